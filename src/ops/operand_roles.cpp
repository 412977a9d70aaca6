// Says what the operands of an operator are for, and what they must fit.

#include "ops/operand_roles.h"

#include "model/node.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Inputs `first` to `last` of `op` have this role. The table of operators has those of axes, sizes, indices and images.
struct Rule {
  std::string_view op;
  std::size_t first, last;
  InputRole role;
};

constexpr auto kRules = std::to_array<Rule>({
    {"SequenceAt", 1, 1, InputRole::zero},
    {"SequenceErase", 1, 1, InputRole::zero},
    {"SequenceInsert", 2, 2, InputRole::zero},
    {"NonMaxSuppression", 2, 2, InputRole::count},
    {"Loop", 0, 0, InputRole::count},
    {"Loop", 1, 1, InputRole::condition},
    {"If", 0, 0, InputRole::condition},
    {"Dropout", 2, 2, InputRole::condition},
    {"OneHot", 0, 0, InputRole::ids},
    {"RoiAlign", 2, 2, InputRole::ids},
    {"BitShift", 1, 1, InputRole::ids},
    {"NegativeLogLikelihoodLoss", 1, 1, InputRole::ids},
    {"SoftmaxCrossEntropyLoss", 1, 1, InputRole::ids},
    {"LSTM", 4, 4, InputRole::length},
    {"GRU", 4, 4, InputRole::length},
    {"RNN", 4, 4, InputRole::length},
    {"ReverseSequence", 1, 1, InputRole::length},
    {"Dropout", 1, 1, InputRole::ratio},
    {"NonMaxSuppression", 3, 4, InputRole::ratio},
    {"NonMaxSuppression", 0, 0, InputRole::boxes},
    {"RoiAlign", 1, 1, InputRole::boxes},
    {"NonMaxSuppression", 1, 1, InputRole::unit},
    {"Bernoulli", 0, 0, InputRole::unit},
    {"Acos", 0, 0, InputRole::symmetric},
    {"Asin", 0, 0, InputRole::symmetric},
    {"Atanh", 0, 0, InputRole::symmetric},
    {"GridSample", 1, 1, InputRole::symmetric},
    {"Acosh", 0, 0, InputRole::above_one},
    {"Log", 0, 0, InputRole::positive},
    {"Sqrt", 0, 0, InputRole::positive},
    {"Pow", 0, 0, InputRole::positive},
    {"BatchNormalization", 4, 4, InputRole::positive},
    {"Div", 1, 1, InputRole::nonzero},
    {"Mod", 1, 1, InputRole::nonzero},
    {"Reciprocal", 0, 0, InputRole::nonzero},
    {"QuantizeLinear", 1, 1, InputRole::scale},
    {"DequantizeLinear", 1, 1, InputRole::scale},
    {"DeformConv", 0, 0, InputRole::image},
    {"GridSample", 0, 0, InputRole::image},
    {"RoiAlign", 0, 0, InputRole::image},
});

}  // namespace

std::optional<InputRole> role_of(const Node& node, std::size_t index) {
  const Traits traits = traits_of(node);
  if (traits.gives_sizes(index) || (index == 1 && traits.along() == Along::axes)) return InputRole::shape;
  if (index == 1 && traits.along() == Along::axis_operand) return InputRole::zero;
  if (index == 1 && traits.has(Trait::indexes)) return InputRole::ids;
  if (index == 0 && traits.has(Trait::batched)) return InputRole::image;
  const auto is_it = [&](const Rule& rule) { return node.is(rule.op) && index >= rule.first && index <= rule.last; };
  const auto* const found = std::ranges::find_if(kRules, is_it);
  return found == kRules.end() ? std::nullopt : std::optional(found->role);
}

std::optional<Rotation> rotation_of(const Node& node) {
  if (node.op_type() != "RotaryEmbedding") return std::nullopt;
  return node.domain() == kMicrosoftDomain ? Rotation{1, 2} : Rotation{3, 1};
}

IdLimit id_limit_of(const Node& node) {
  using enum IdLimit::By;
  constexpr int64_t kBitsOfByte = 8;
  if (const auto rotation = rotation_of(node)) return {dim, rotation->cache, 0};
  if (node.is("OneHot")) return {element, 1, 0};
  if (node.is("BitShift")) return {number, 0, kBitsOfByte};
  if (node.is("RoiAlign")) return {dim, 0, 0};
  if (node.is("NegativeLogLikelihoodLoss") || node.is("SoftmaxCrossEntropyLoss")) return {dim, 0, 1};
  if (has_trait(node, Trait::indexes) && traits_of(node).along() == Along::none) return {any_dim, 0, 0};
  return {dim, 0, Attributes(node).integer("axis", 0)};
}

int64_t length_axis(const Node& node) {
  const Attributes attributes(node);
  if (node.is("ReverseSequence")) return attributes.integer("time_axis", 0);
  return attributes.integer("layout", 0) == 1 ? 1 : 0;
}

std::map<int64_t, int64_t> demanded_dims(const Node& node, const Dims& weight, std::size_t rank) {
  if (weight.empty()) return {};
  const auto last = static_cast<int64_t>(rank) - 1;
  const Attributes attributes(node);
  if (node.is("Conv") && weight.size() >= 2) return {{1, weight[1] * attributes.integer("group", 1)}};
  if (node.is("ConvTranspose") || node.is("BatchNormalization") || node.is("InstanceNormalization")) return {{1, weight[0]}};
  if (node.is("MatMul") && rank > 0) return {{last, weight.size() == 1 ? weight[0] : weight[weight.size() - 2]}};
  if (node.is("Gemm") && weight.size() == 2) {
    const bool transposed = attributes.integer("transA", 0) != 0;
    return {{transposed ? 0 : 1, weight[attributes.integer("transB", 0) != 0 ? 1 : 0]}};
  }
  if (has_trait(node, Trait::recurrent) && weight.size() == 3) return {{2, weight[2]}};
  if (node.is("LayerNormalization") && weight.size() == 1) return {{last, weight[0]}};
  return {};
}

}  // namespace relayout
