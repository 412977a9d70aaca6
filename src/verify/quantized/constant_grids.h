#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "verify/compare/layers.h"
#include "verify/run/quantizer.h"

namespace relayout {

/// Grids of a quantized model for constants of the original, found by pairing nodes of one operator within a layer.
class ConstantGrids {
 public:
  /// Pairs the nodes that compute a layer's value.
  void add(const Layers& layers, const Layer& layer);

  /// The grid of a constant of the original; nullptr where the other model is not known to round it.
  [[nodiscard]] const Quantizer* find(const std::string& constant) const;
  /// Whether a node of the quantized model reads integers that represent constants of the original.
  [[nodiscard]] bool is_paired(const Node& node) const { return paired_.contains(&node); }
  /// Whether the quantized model computes a layer's value from other constants: a normalization was folded into the weights.
  [[nodiscard]] bool is_restructured(const Layer& layer) const { return restructured_.contains(layer.b); }

 private:
  void pair(const Node& node, const Node& original);
  void pair_weights(const Node& node, const Node& original);
  /// Pairs the bias of a Gemm that replaces a product and the sum downstream. Returns that sum, or nullptr.
  const Node* pair_bias(const Node& gemm, const Node& product, const std::vector<const Node*>& rest);
  void pair_operand(const Value* operand, const Value* constant);
  void note(const Value& constant, Quantizer grid, const Node& reader);
  /// Whether a constant operand of the original's nodes has no counterpart in the other model: it was folded into another constant.
  [[nodiscard]] bool is_folded(const std::vector<const Node*>& originals, const std::vector<const Node*>& nodes);

  Constants constants_a_, constants_b_;
  std::map<std::string, Quantizer> grids_;  ///< by the name of the constant
  std::unordered_set<const Value*> met_;    ///< constants of the original that the other model stores too, not rounded to a grid
  std::unordered_set<const Node*> paired_;
  std::unordered_set<const Value*> restructured_;
};

}  // namespace relayout
