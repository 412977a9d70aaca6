// Linearizes reductions and the functions that follow one: Softmax and its logarithm.

#include "base/positions.h"
#include "derive/row.h"
#include "derive/writer.h"

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

Names product_of_axes(const Row& row) {
  constexpr int64_t kMost = 1024;
  Writer& w = row.w;
  std::optional<std::vector<int64_t>> axes = row.attributes.integers("axes");
  if (row.node.input(1) != nullptr) axes = row.sizes.integers(*row.node.input(1));
  if (!axes) row.refuse("its axes are not known");
  if (axes->empty() && row.attributes.integer("noop_with_empty_axes", 0) != 0) return {row.x()};
  for (std::size_t i = 0; axes->empty() && i < row.rank(); ++i) axes->push_back(static_cast<int64_t>(i));
  Name out = row.x();
  for (int64_t& axis : *axes) {
    const auto place = checked_axis(axis, row.rank());
    const int64_t size = place ? row.size(0, *place) : -1;
    if (size < 1 || size > kMost) row.refuse("the size of an axis is free, 0 or above " + std::to_string(kMost));
    axis = static_cast<int64_t>(*place);
    if (size == 1) continue;
    Names parts = w.make("Split", {out, w.integers(std::vector<int64_t>(as_size(size), 1))}, as_size(size), {{"axis", axis}});
    for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2)) {
      for (std::size_t i = 0; 2 * i < parts.size(); ++i) {
        parts[i] = 2 * i + 1 < parts.size() ? w.make("Mul", {parts[2 * i], parts[2 * i + 1]}) : parts[2 * i];
      }
    }
    out = parts.front();
  }
  return {row.attributes.integer("keepdims", 1) != 0 ? out : w.make("Squeeze", {out, w.integers(*axes)})};
}

LinearizeRows reduction_rows() {
  return kReductions;
}

}  // namespace relayout::derive
