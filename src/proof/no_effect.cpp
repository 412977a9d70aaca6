// Finds nodes that change nothing, alone or in pairs: Identities, Dropouts, Casts, Transposes and Squeezes.

#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

bool drops_nothing(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  const AttributeReader attributes(*node, output.call);
  if (node->opset() < 7) return attributes.integer("is_test", 0) != 0 && !attributes.is_open();
  if (node->opset() < 12) return true;
  const Ref training = side.operand(output, 2);
  if (!training) return true;
  const auto mode = side.constant(training);
  return mode && mode->type == DataType::boolean && element_count(mode->dims) == 1 && *mode->load().bytes() == std::byte{0};
}

bool moves_nothing(Ref output) {
  const AttributeReader attributes(*output.value->producer(), output.call);
  const std::vector<int64_t> permutation = attributes.integers("perm");
  bool in_place = !permutation.empty() && !attributes.is_open();
  for (std::size_t i = 0; i < permutation.size(); ++i) in_place = in_place && permutation[i] == static_cast<int64_t>(i);
  return in_place;
}

/// The result type of a Cast; undefined if the caller decides it.
DataType type_after(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  if (traits_of(node).reads(1) == Reads::type)
    return node.input(1) != nullptr ? side.type_of(side.operand(output, 1)) : DataType::undefined;
  const AttributeReader attributes(node, output.call);
  const int64_t to = attributes.integer("to", 0);
  return attributes.is_open() ? DataType::undefined : side.as_read(type_of_number(to));
}

}  // namespace

bool is_identity(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || output.value->output_index() != 0 || node->input(0) == nullptr) return false;
  if (has_trait(*node, Trait::identity)) return has_trait(*node, Trait::keeps_order) || drops_nothing(side, output);
  if (node->is("Transpose")) return moves_nothing(output);
  if (has_trait(*node, Trait::one_is_itself)) return node->inputs().size() == 1;
  if (!has_trait(*node, Trait::casts)) return false;
  const DataType before = side.type_of(side.operand(output, 0));
  return before != DataType::undefined && before == type_after(side, output);
}

// Transposes that cancel.

std::vector<int64_t> written_permutation(const Node& node, const Call* call) {
  if (!node.is("Transpose")) return {};
  const AttributeReader attributes(node, call);
  std::vector<int64_t> out = attributes.integers("perm");
  if (attributes.is_open()) out.clear();
  return out;
}

Ref upstream_of_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->is("Transpose")) return {};
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between ? between.value->producer() : nullptr;
  if (inner == nullptr || !inner->is("Transpose")) return {};
  const auto first = written_permutation(*inner, between.call);
  const auto second = written_permutation(*outer, ref.call);
  if (first.empty() || first.size() != second.size()) return {};
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto from = as_size(second[i]);
    if (from >= first.size() || first[from] != static_cast<int64_t>(i)) return {};
  }
  nodes.push_back(outer);
  nodes.push_back(inner);
  return side.operand(between, 0);
}

// Squeezes that cancel.

std::optional<std::vector<int64_t>> written_axes(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const bool is_attribute = node.opset() < 13;
  const Ref given = is_attribute ? Ref() : side.operand(output, 1);
  auto axes = is_attribute ? std::optional(attributes.integers("axes"))
              : given      ? integers_of(side, given)
                           : std::optional(std::vector<int64_t>());
  return attributes.is_open() ? std::nullopt : std::move(axes);
}

Ref upstream_of_squeeze(Side& side, Ref ref, std::vector<const Node*>& nodes) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->is("Squeeze")) return {};
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between ? between.value->producer() : nullptr;
  if (const Ref stacked = inner != nullptr ? side.stacked_once(between) : Ref()) {
    if (written_axes(side, ref) != std::optional(std::vector<int64_t>{0})) return {};
    nodes.push_back(outer);
    nodes.push_back(inner);
    return stacked;
  }
  if (inner == nullptr || !inner->is("Unsqueeze")) return {};
  // Both count in the dims between them.
  auto removed = written_axes(side, ref), added = written_axes(side, between);
  if (!removed || !added || added->empty()) return {};
  std::ranges::sort(*removed);
  std::ranges::sort(*added);
  if (*removed != *added) return {};
  nodes.push_back(outer);
  nodes.push_back(inner);
  return side.operand(between, 0);
}

}  // namespace relayout::proof
