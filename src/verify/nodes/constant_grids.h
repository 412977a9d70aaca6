#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "verify/nodes/layers.h"
#include "verify/quantizer.h"

namespace relayout {

/// The grids that a quantized model has for constants of the original: found by the operands of nodes of one operator within a layer.
class ConstantGrids {
 public:
  /// Pairs the nodes that make a layer's value.
  void add(const Layers& layers, const Layer& layer);

  /// nullptr where a constant of the original is none that the other model rounds.
  [[nodiscard]] const Quantizer* find(const std::string& constant) const;
  /// Whether a node of the quantized model reads integers that stand for constants of the original.
  [[nodiscard]] bool is_paired(const Node& node) const { return paired_.contains(&node); }
  /// Whether a layer's value is made otherwise than the original's: a normalization went into the weights.
  [[nodiscard]] bool is_restructured(const Layer& layer) const { return restructured_.contains(layer.b); }

 private:
  void pair(const Node& node, const Node& original);
  void pair_weights(const Node& node, const Node& original);
  /// A product and the sum behind it that one Gemm stands for; returns that sum, or nullptr.
  const Node* pair_bias(const Node& gemm, const Node& product, const std::vector<const Node*>& rest);
  void pair_operand(const Value* operand, const Value* constant);
  void note(const Value& constant, Quantizer grid, const Node& reader);
  /// Whether a constant of the nodes of the original is none of those of the other model: it was folded into another one.
  [[nodiscard]] bool is_folded(const std::vector<const Node*>& originals, const std::vector<const Node*>& nodes);

  Constants constants_a_, constants_b_;
  std::map<std::string, Quantizer> grids_;  ///< by the name of the constant
  std::unordered_set<const Value*> met_;    ///< constants that the other model has, not rounded to a grid
  std::unordered_set<const Node*> paired_;
  std::unordered_set<const Value*> restructured_;
};

}  // namespace relayout
