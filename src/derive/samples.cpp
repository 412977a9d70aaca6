// Follows the samples of a batch through a graph, and tells where nodes mix them.
#include "derive/samples.h"

#include "base/positions.h"
#include "derive/sizes.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/einsum.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

bool is_one_of(const Node& node, std::span<const std::string_view> ops) {
  return node.domain().empty() && std::ranges::find(ops, node.op_type()) != ops.end();
}

/// Operators that treat each sample of their first operand alone, with operands that are the same for all.
constexpr std::array<std::string_view, 14> kBySample = {"AveragePool",
                                                        "BatchNormalization",
                                                        "Conv",
                                                        "ConvTranspose",
                                                        "DepthToSpace",
                                                        "Dropout",
                                                        "GlobalAveragePool",
                                                        "GlobalMaxPool",
                                                        "LRN",
                                                        "GroupNormalization",
                                                        "InstanceNormalization",
                                                        "MaxPool",
                                                        "Resize",
                                                        "SpaceToDepth"};
/// Operators along one axis; those that take the last one by default.
constexpr std::array<std::string_view, 7> kAlongLast = {
    "Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization", "RMSNormalization", "Softmax", "TopK"};
constexpr std::array<std::string_view, 6> kAlongFirst = {"ArgMax", "ArgMin", "Concat", "GatherElements", "ScatterElements", "Split"};

}  // namespace

Samples::Samples(const Graph& graph, Sizes& sizes, const std::vector<const Value*>& inputs,
                 const std::unordered_map<const Value*, const Value*>& origins)
    : sizes_(sizes), first_(inputs.front()) {
  for (const Value* input : inputs) states_[input] = State::apart;
  for (const Node& node : graph.nodes()) {
    bool is_read = false, is_mixed = false;
    const auto look = [&](const Node& reader, std::size_t i) {
      const Value* const value = reader.input(i);
      if (value == nullptr || traits_of(reader).reads(i) != Reads::elements) return;
      is_read = is_read || of(*value) != State::none;
      is_mixed = is_mixed || of(*value) == State::mixed;
    };
    for (std::size_t i = 0; i < node.inputs().size(); ++i) look(node, i);
    for (const auto& nested : node.subgraphs()) {
      for_each_node(*nested, [&](const Node& inner) {
        for (std::size_t i = 0; i < inner.inputs().size(); ++i) look(inner, i);
      });
    }
    if (!is_read) continue;
    const bool stays = !is_mixed && node.subgraphs().empty() && node.domain().empty() && keeps_apart(node);
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      const auto origin = origins.find(output);
      const bool stays_as_origin = origin != origins.end() && is_apart(origin->second);
      states_[output] = (stays || stays_as_origin) && has_samples(*output) ? State::apart : State::mixed;
    }
  }
}

Samples::State Samples::of(const Value& value) const {
  const auto found = states_.find(&value);
  return found == states_.end() ? State::none : found->second;
}

const Node* Samples::mixer(const Value& value) const {
  const Value* at = &value;
  while (of(*at) == State::mixed) {
    const Node& node = *at->producer();
    const auto is_mixed = [&](const Value* input) { return input != nullptr && of(*input) == State::mixed; };
    const auto next = std::ranges::find_if(node.inputs(), is_mixed);
    if (next == node.inputs().end()) return &node;
    at = *next;
  }
  return nullptr;
}

bool Samples::are_same_from(const Node& node, std::size_t begin) const {
  for (std::size_t i = begin; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && of(*node.input(i)) != State::none) return false;
  }
  return true;
}

bool Samples::avoids_first_axis(const Value* axes, std::size_t rank) {
  const auto known = axes == nullptr ? std::nullopt : sizes_.integers(*axes);
  return known && std::ranges::none_of(*known, [&](int64_t axis) { return from_front(axis, static_cast<int64_t>(rank)) == 0; });
}

bool Samples::keeps_apart(const Node& node) {
  const Value* const out = first_output(node);
  if (out == nullptr || !has_samples(*out)) return false;
  const std::size_t rank = *sizes_.rank(*out);
  const Traits& traits = traits_of(node);
  if (traits.has(Trait::elementwise)) {
    return std::ranges::all_of(node.inputs(), [&](const Value* input) { return !is_apart(input) || sizes_.rank(*input) == rank; });
  }
  if (is_one_of(node, kBySample)) return are_same_from(node, 1);
  if (traits.has(Trait::keeps_order) && is_apart(node.input(0))) return are_same_from(node, 1);
  return keeps_apart_in_product(node) || keeps_apart_along(node) || keeps_apart_in_movement(node);
}

bool Samples::keeps_apart_along(const Node& node) {
  const bool is_last = is_one_of(node, kAlongLast);
  if (!is_last && !is_one_of(node, kAlongFirst)) return false;
  const std::size_t rank = sizes_.rank(*node.input(0)).value_or(0);
  const auto has_rank = [&](const Value* input) { return !is_apart(input) || sizes_.rank(*input) == rank; };
  const auto axis = checked_axis(Attributes(node).integer("axis", is_last ? -1 : 0), rank);
  // Scale, shift, and the number of elements that are taken.
  if (is_last && !are_same_from(node, 1)) return false;
  return axis && *axis > 0 && std::ranges::all_of(node.inputs(), has_rank);
}

bool Samples::keeps_apart_in_product(const Node& node) {
  const auto rank_of = [&](std::size_t i) { return sizes_.rank(*node.input(i)).value_or(0); };
  if (node.is("MatMul")) {
    const std::size_t a = rank_of(0), b = rank_of(1);
    if (a < 2 || b == 0) return false;
    if (is_apart(node.input(1))) return b >= 3 && (is_apart(node.input(0)) ? a == b : a <= b);
    return b <= 2 || (a == b && a >= 3);
  }
  if (node.is("Gemm")) {
    const bool adds_samples = is_apart(node.input(2)) && rank_of(2) != 2;
    return !is_apart(node.input(1)) && !adds_samples && Attributes(node).integer("transA", 0) == 0;
  }
  if (!node.is("Einsum")) return false;
  const EinsumEquation terms = read_einsum(Attributes(node).text("equation", ""));
  const std::string result = terms.has_ellipsis() ? "" : terms.letters_of_result();
  if (result.empty()) return false;
  for (std::size_t i = 0; i < terms.operands.size(); ++i) {
    const std::string& letters = terms.operands[i];
    if (!is_apart(node.input(i))) continue;
    if (letters.empty() || letters.front() != result.front() || std::ranges::count(letters, letters.front()) != 1) return false;
  }
  return true;
}

bool Samples::keeps_apart_in_movement(const Node& node) {
  const Attributes attributes(node);
  const Value* const data = node.input(0);
  const std::size_t rank = data == nullptr ? 0 : sizes_.rank(*data).value_or(0);
  if (node.is("Gather")) {
    const auto axis = checked_axis(attributes.integer("axis", 0), rank);
    if (is_apart(data)) return axis && *axis > 0 && are_same_from(node, 1);
    return axis == 0U;
  }
  if (!is_apart(data) || !are_same_from(node, 1)) return false;
  if (node.is("Transpose")) {
    const std::vector<int64_t> order = attributes.integers("perm");
    return !order.empty() && order.front() == 0;
  }
  if (node.is("Expand")) return sizes_.rank(*node.output(0)) == rank;
  if (node.is("Trilu")) return rank >= 3;
  if (node.is("CumSum")) return avoids_first_axis(node.input(1), rank);
  if (node.is("Slice")) return avoids_first_axis(node.input(3), rank);
  if (node.is("Tile")) {
    const auto repeats = sizes_.integers(*node.input(1));
    return repeats && !repeats->empty() && repeats->front() == 1;
  }
  if (node.is("Pad")) {
    if (node.input(3) != nullptr) return avoids_first_axis(node.input(3), rank);
    const auto pads = sizes_.integers(*node.input(1));
    return pads && pads->size() == 2 * rank && pads->at(0) == 0 && pads->at(rank) == 0;
  }
  if (traits_of(node).along() != Along::axes) return false;
  // Reductions.
  const std::vector<int64_t> axes = attributes.integers("axes");
  if (axes.empty()) return avoids_first_axis(node.input(1), rank) && !sizes_.integers(*node.input(1))->empty();
  return std::ranges::none_of(axes, [&](int64_t axis) { return from_front(axis, static_cast<int64_t>(rank)) == 0; });
}

}  // namespace relayout::derive
