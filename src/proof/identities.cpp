// Nodes that change nothing: Identity, Dropout in inference, Transpose that keeps the order, Cast to the same type, Concat or Sum of one
// operand.
#include "proof/identities.h"

#include <cstddef>
#include <cstdint>
#include <vector>

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
  return attributes.is_open() ? DataType::undefined : type_of_number(to);
}

}  // namespace

bool is_identity(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || output.value->output_index() != 0 || node->input(0) == nullptr) return false;
  if (node->is("Identity")) return true;
  if (node->is("Dropout")) return drops_nothing(side, output);
  if (node->is("Transpose")) return moves_nothing(output);
  if (has_trait(*node, Trait::one_is_itself)) return node->inputs().size() == 1;
  if (!has_trait(*node, Trait::casts)) return false;
  const DataType before = side.type_of(side.operand(output, 0));
  return before != DataType::undefined && before == type_after(side, output);
}

}  // namespace relayout::proof
