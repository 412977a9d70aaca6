// Linearizes reductions and the functions that follow one: Softmax and its logarithm.

#include "base/positions.h"
#include "derive/row.h"

namespace relayout::derive {
namespace {

/// The node's reduction as another operator's, over the same axes: with its own form of dims, or with dims kept as 1.
Name reduced(const LinearizeRow& row, std::string_view op, const Name& value, bool keeps) {
  const int64_t keepdims = keeps ? 1 : row.attributes.integer("keepdims", 1);
  const int64_t noop = row.attributes.integer("noop_with_empty_axes", 0);
  const bool by_attribute = row.attributes.has("axes");
  if (by_attribute) return row.w.reduce(op, value, row.attributes.integers("axes"), keepdims != 0);
  const bool has_operand = op == "ReduceSum" || row.node.opset() >= 18;
  if (has_operand && row.node.input(1) != nullptr) {
    return row.w.make(op, {value, row.x(1)}, {{"keepdims", keepdims}, {"noop_with_empty_axes", noop}});
  }
  if (noop != 0) row.refuse("noop_with_empty_axes without axes");
  return row.w.make(op, {value}, {{"keepdims", keepdims}});
}

/// A sum over the axes of tangents with factors.
void weighted_sum(LinearizeRow& row, const Name& factor) {
  row.give(reduced(row, "ReduceSum", row.w.make("Mul", {row.t(), factor}), false));
}

/// The node's result with dims kept as 1.
Name kept(const LinearizeRow& row) {
  return reduced(row, row.node.op_type(), row.x(), true);
}

void sum_of_magnitudes(LinearizeRow& row) {
  if (!row.t().empty()) weighted_sum(row, row.formula("Sign(x)"));
}

/// The derivative of the norm at 0 is taken as 0.
void norm(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  const Name length = kept(row);
  const Name is_zero = w.make("Equal", {length, row.number(0)});
  const Name safe = w.make("Where", {is_zero, row.number(1), length});
  weighted_sum(row, w.make("Div", {row.x(), safe}));
}

void sum_of_squares(LinearizeRow& row) {
  if (!row.t().empty()) weighted_sum(row, row.formula("2 * x"));
}

void log_of_sum(LinearizeRow& row) {
  if (row.t().empty()) return;
  const Name sum = reduced(row, "ReduceSum", row.x(), false);
  row.give(row.w.make("Div", {reduced(row, "ReduceSum", row.t(), false), sum}));
}

void log_of_sum_of_powers(LinearizeRow& row) {
  if (!row.t().empty()) weighted_sum(row, row.w.make("Exp", {row.w.make("Sub", {row.x(), kept(row)})}));
}

/// Equal extremes share the tangent, as torch.amax and torch.amin do.
void extreme_of_axes(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  const Name chosen = w.cast(w.make("Equal", {row.x(), kept(row)}), row.type());
  weighted_sum(row, w.make("Div", {chosen, reduced(row, "ReduceSum", chosen, true)}));
}

/// A tangent less its sum along the axis, which `factor` weights; "" stands for 1.
void sum_along(LinearizeRow& row, const Name& factor, const Name& outer) {
  Writer& w = row.w;
  const auto axis = static_cast<int64_t>(row.axis(-1));
  const Name sum = w.reduce("ReduceSum", factor.empty() ? row.t() : w.make("Mul", {factor, row.t()}), {axis});
  const Name difference = w.make("Sub", {row.t(), sum});
  row.give(outer.empty() ? difference : w.make("Mul", {difference, outer}));
}

void softmax(LinearizeRow& row) {
  if (!row.t().empty()) sum_along(row, row.y(), row.y());
}

void log_softmax(LinearizeRow& row) {
  if (!row.t().empty()) sum_along(row, row.formula("Exp(y)"), "");
}

constexpr auto kReductions = std::to_array<Linearize>({
    {"LogSoftmax", log_softmax},
    {"ReduceL1", sum_of_magnitudes},
    {"ReduceL2", norm},
    {"ReduceLogSum", log_of_sum},
    {"ReduceLogSumExp", log_of_sum_of_powers},
    {"ReduceMax", extreme_of_axes},
    {"ReduceMin", extreme_of_axes},
    {"ReduceSumSquare", sum_of_squares},
    {"Softmax", softmax},
});

}  // namespace

LinearizeRows reduction_rows() {
  return kReductions;
}

}  // namespace relayout::derive
