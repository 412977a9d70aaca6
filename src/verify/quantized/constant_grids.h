#pragma once

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "verify/compare/layers.h"
#include "verify/run/quantizer.h"

namespace relayout {

/// A copy of a model in which operators on quantized numbers (QLinearConv, QGemm, QLinearAdd, …) are written as DequantizeLinear, the
/// operator itself and QuantizeLinear, so that the real numbers in between can be observed. Nodes keep their names. Values get the names of
/// the original's values that they represent, where names identify those. nullptr where the model has no such operator, an opset without
/// QuantizeLinear's axis, was changed since it was read, or could not run in this form.
[[nodiscard]] std::unique_ptr<Model> with_quantization_spelled_out(const Model& model, const Graph& original);

/// A copy of the original with its BatchNormalizations folded, where a quantized model has none left: quantizers fold before they round, so
/// that their grids are those of folded weights. nullptr where there is nothing to fold, or the original was changed since it was read.
[[nodiscard]] std::unique_ptr<Model> with_batch_norms_folded(const Model& original, const Graph& quantized);

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
