// Transposes linear arithmetic: sums, products with constants, choices, and sums along axes.

#include <numeric>

#include "derive/row.h"
#include "derive/writer.h"

namespace relayout::derive {
namespace {

void add(TransposeRow& row) {
  for (const std::size_t i : {0UL, 1UL}) {
    if (row.is_linear(i)) row.give_summed(row.ct(), i);
  }
}

void subtract(TransposeRow& row) {
  if (row.is_linear(0)) row.give_summed(row.ct(), 0);
  if (!row.is_linear(1)) return;
  row.give_summed(row.ct(), 1);
  row.give(row.w.negative(row.given()[1]), 1);
}

void negate(TransposeRow& row) {
  row.give(row.w.negative(row.ct()));
}

/// A cotangent before it was repeated, if the other factor has all dims.
Name factor_of(const TransposeRow& row, std::size_t other) {
  const bool is_whole = row.sizes.have_same_dims(row.present(other), *row.node.output(0));
  return is_whole ? row.w.before_expand(row.ct()) : row.ct();
}

void multiply(TransposeRow& row) {
  const std::size_t i = row.is_linear(0) ? 0 : 1;
  row.give_summed(row.w.make("Mul", {factor_of(row, 1 - i), row.x(1 - i)}), i);
}

void divide(TransposeRow& row) {
  row.give_summed(row.w.make("Div", {factor_of(row, 1), row.x(1)}), 0);
}

void where(TransposeRow& row) {
  const Name zero = row.w.real(0, row.type(1));
  if (row.is_linear(1)) row.give_summed(row.w.make("Where", {row.x(0), row.ct(), zero}), 1);
  if (row.is_linear(2)) row.give_summed(row.w.make("Where", {row.x(0), zero, row.ct()}), 2);
}

void cast(TransposeRow& row) {
  row.give(row.w.cast(row.ct(), row.type()));
}

void identity(TransposeRow& row) {
  row.give(row.ct());
}

/// With shift and mean 0: a factor for each channel.
void batch_normalization(TransposeRow& row) {
  Writer& w = row.w;
  const Name deviation = w.make("Sqrt", {w.make("Add", {row.x(4), row.number(row.attributes.real("epsilon", 1e-5F))})});
  std::vector<int64_t> axes(std::max<std::size_t>(row.rank(), 2) - 2);
  std::iota(axes.begin(), axes.end(), 1);
  row.give(w.make("Mul", {row.ct(), w.unsqueeze(w.make("Div", {row.x(1), deviation}), axes)}));
}

/// A cotangent of reduced dims with the dims that were left out as 1, so that it broadcasts.
Name with_kept_dims(const TransposeRow& row) {
  if (row.attributes.integer("keepdims", 1) != 0) return row.ct();
  if (row.attributes.has("axes")) return row.w.unsqueeze(row.ct(), row.attributes.integers("axes"));
  return row.node.input(1) == nullptr ? row.ct() : row.w.make("Unsqueeze", {row.ct(), row.x(1)});
}

void reduce_sum(TransposeRow& row) {
  row.give(row.expand_to(with_kept_dims(row), row.x()));
}

/// The number of elements behind each mean, as a number of the operand's type.
Name share(const TransposeRow& row) {
  const auto count = [&](const Name& value) {
    return row.w.cast(row.w.make("ReduceProd", {row.shape(value)}, {{"keepdims", int64_t{0}}}), row.type());
  };
  return row.w.make("Div", {count(row.y()), count(row.x())});
}

void reduce_mean(TransposeRow& row) {
  row.give(row.expand_to(row.w.make("Mul", {with_kept_dims(row), share(row)}), row.x()));
}

void global_average(TransposeRow& row) {
  row.give(row.expand_to(row.w.make("Mul", {row.ct(), share(row)}), row.x()));
}

/// The sums from the other end.
void cumulative_sum(TransposeRow& row) {
  row.give(row.w.make("CumSum", {row.ct(), row.x(1)},
                      {{"exclusive", row.attributes.integer("exclusive", 0)}, {"reverse", 1 - row.attributes.integer("reverse", 0)}}));
}

constexpr auto kArithmetic = std::to_array<Transpose>({
    {"Add", add},
    {"BatchNormalization", batch_normalization},
    {"Cast", cast},
    {"CastLike", cast},
    {"CumSum", cumulative_sum},
    {"Div", divide},
    {"GlobalAveragePool", global_average},
    {"Identity", identity},
    {"Mul", multiply},
    {"Neg", negate},
    {"ReduceMean", reduce_mean},
    {"ReduceSum", reduce_sum},
    {"Sub", subtract},
    {"Where", where},
});

}  // namespace

TransposeRows arithmetic_transposes() {
  return kArithmetic;
}

}  // namespace relayout::derive
