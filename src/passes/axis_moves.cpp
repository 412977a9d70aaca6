// Tells where Transposes, Squeezes and Unsqueezes in a row take the axes of a value, and which node alone does so.
#include "passes/axis_moves.h"

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr int kFirstWithAxesOperand = 13;  ///< first opset of Squeeze and Unsqueeze with axes as an operand

bool is_among(const Dims& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

Dims first_axes(int64_t count) {
  Dims out;
  for (int64_t axis = 0; axis < count; ++axis) out.push_back(axis);
  return out;
}

/// Axes that a Squeeze or Unsqueeze names, in order, of a value of this rank; empty where they are not known or not all different.
Dims named_axes(const Node& node, int64_t rank, PassContext& context) {
  auto axes = node.opset() < kFirstWithAxesOperand ? std::optional(Attributes(node).integers("axes")) : constant_list(node, 1, context);
  if (!axes) return {};
  const int64_t count = node.is("Unsqueeze") ? rank + std::ssize(*axes) : rank;
  for (int64_t& axis : *axes) {
    const auto place = checked_axis(axis, as_size(count));
    if (!place) return {};
    axis = static_cast<int64_t>(*place);
  }
  std::ranges::sort(*axes);
  return std::ranges::adjacent_find(*axes) == axes->end() ? *axes : Dims();
}

}  // namespace

std::optional<AxisMoves> moves_of(const Node& node, PassContext& context) {
  const bool adds = node.is("Unsqueeze"), takes = node.is("Squeeze"), turns = node.is("Transpose");
  const bool is_plain = node.domain().empty() && node.input(0) != nullptr && node.output(0) != nullptr;
  if (!(adds || takes || turns) || !is_plain || Attributes(node).has_reference()) return std::nullopt;
  const Dims permutation = turns ? Attributes(node).integers("perm") : Dims();
  if (!permutation.empty()) {
    Dims sorted = permutation;
    std::ranges::sort(sorted);
    return sorted == first_axes(std::ssize(sorted)) ? std::optional(AxisMoves{permutation, {}}) : std::nullopt;
  }
  const PartialDims dims = context.constants.dims(*node.input(0));
  if (!dims) return std::nullopt;
  const int64_t rank = std::ssize(*dims);
  AxisMoves out;
  if (turns) {
    out.axes = first_axes(rank);
    std::ranges::reverse(out.axes);
    return out;
  }
  const Dims named = named_axes(node, rank, context);
  if (named.empty()) return std::nullopt;
  for (int64_t longer = 0, shorter = 0; shorter < rank || is_among(named, longer); ++longer) {
    const bool is_named = is_among(named, longer);
    if (takes && longer == rank) break;
    if (takes && !is_named) out.axes.push_back(longer);
    if (adds) out.axes.push_back(is_named ? -1 : shorter);
    shorter += is_named ? 0 : 1;
  }
  if (takes) out.squeezed = named;
  return out;
}

AxisMoves joined(const AxisMoves& first, const AxisMoves& second) {
  AxisMoves out{{}, first.squeezed};
  for (const int64_t axis : second.axes) out.axes.push_back(axis < 0 ? -1 : element_at(first.axes, axis));
  for (const int64_t axis : second.squeezed) {
    // A new axis that is taken again leaves no trace.
    if (const int64_t from = element_at(first.axes, axis); from >= 0) out.squeezed.push_back(from);
  }
  std::ranges::sort(out.squeezed);
  return out;
}

bool moves_nothing(const AxisMoves& moves) {
  return moves.squeezed.empty() && moves.axes == first_axes(std::ssize(moves.axes));
}

std::string_view operator_that(const AxisMoves& moves) {
  const bool adds = is_among(moves.axes, -1);
  Dims kept = moves.axes;
  std::erase(kept, -1);
  if (!adds && moves.squeezed.empty()) return "Transpose";
  if (!std::ranges::is_sorted(kept) || (adds && !moves.squeezed.empty())) return {};
  return adds ? "Unsqueeze" : "Squeeze";
}

void set_moves(Node& node, const AxisMoves& moves, PassContext& context) {
  const std::string op(operator_that(moves));
  Dims numbers = op == "Squeeze" ? moves.squeezed : op == "Transpose" ? moves.axes : Dims();
  for (std::size_t i = 0; i < moves.axes.size() && op == "Unsqueeze"; ++i) {
    if (moves.axes[i] < 0) numbers.push_back(static_cast<int64_t>(i));
  }
  const bool is_operand = op != "Transpose" && node.opset() >= kFirstWithAxesOperand;
  if (Value* const old = is_operand ? nullptr : node.input(1)) {
    node.graph().set_input(node, 1, nullptr);
    release(*old, context);
  }
  onnx::NodeProto& message = node.graph().edit(node);
  message.set_op_type(op);
  message.clear_attribute();  // each of them has one at most
  if (is_operand) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    const std::string name = node.output(0)->name() + ".axes";
    set_constant_input(node, 1, TensorData(DataType::int64, {std::ssize(numbers)}, Bytes::owned(std::move(bytes))), name, context);
    return;
  }
  onnx::AttributeProto& attribute = *message.add_attribute();
  attribute.set_name(op == "Transpose" ? "perm" : "axes");
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(numbers.begin(), numbers.end());
}

}  // namespace relayout::passes
