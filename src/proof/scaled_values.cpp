// Decides whether two values are one value, or parts of one table, times constants whose products are the same, however these are spread.

#include <cmath>

#include "base/interrupt.h"
#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Limits of the constants that are multiplied.
constexpr int64_t kMostFactors = int64_t{1} << 20;
constexpr std::size_t kMostScalings = 16;

/// An array of factors, as the product of constants has it.
struct Factors {
  Dims dims;
  std::vector<double> numbers{1};
};

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= out.size(); ++i) {
    const int64_t one = i <= a.size() ? a[a.size() - i] : 1, other = i <= b.size() ? b[b.size() - i] : 1;
    if (one != other && one != 1 && other != 1) return std::nullopt;
    out[out.size() - i] = one == 1 ? other : one;
  }
  return element_count(out) <= kMostFactors ? std::optional(out) : std::nullopt;
}

/// The place of an element of `whole` in an array that is broadcast to it.
std::size_t place_in(const Dims& dims, const Dims& whole, std::size_t position) {
  std::size_t out = 0, stride = 1;
  for (std::size_t i = 1; i <= whole.size(); ++i) {
    const std::size_t dim = as_size(whole[whole.size() - i]), at = position % dim;
    position /= dim;
    if (i > dims.size()) continue;
    const std::size_t own = as_size(dims[dims.size() - i]);
    out += own == 1 ? 0 : at * stride;
    stride *= own;
  }
  return out;
}

bool multiply(Factors& factors, const Constant& by, bool divides) {
  const auto dims = element_count(by.dims) <= kMostFactors ? broadcast(factors.dims, by.dims) : std::nullopt;
  if (!dims) return false;
  const std::vector<double> numbers = to_doubles(by.load());
  Factors out{*dims, std::vector<double>(as_size(element_count(*dims)))};
  for (std::size_t i = 0; i < out.numbers.size(); ++i) {
    const double number = numbers[place_in(by.dims, *dims, i)], factor = factors.numbers[place_in(factors.dims, *dims, i)];
    out.numbers[i] = divides ? factor / number : factor * number;
  }
  factors = std::move(out);
  return true;
}

/// One node of a row: the arithmetic, and the constant unless it negates.
struct Operation {
  Arithmetic arithmetic = Arithmetic::none;
  Ref constant;
  bool is_first = false;  ///< the constant is the node's first operand
};

/// A value as constants multiplied with, or added to, another value.
struct Scaled {
  Ref value;
  std::vector<Operation> operations;  ///< from the last to the first
  std::vector<const Node*> nodes;
  std::vector<Ref> constants;
};

Scaled read_scaled(Side& side, Ref output, bool with_sums) {
  Scaled out{output, {}, {}, {}};
  while (out.value && out.value.value->producer() != nullptr && out.nodes.size() < kMostScalings) {
    const Node& node = *out.value.value->producer();
    const Arithmetic arithmetic = arithmetic_of(node);
    const bool divides = arithmetic == Arithmetic::divide, negates = arithmetic == Arithmetic::negate;
    const bool adds = arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract;
    if ((!divides && !negates && arithmetic != Arithmetic::multiply && !(adds && with_sums)) || node.opset() < 7) break;
    if (std::ranges::find(node.inputs(), nullptr) != node.inputs().end() || node.inputs().size() != (negates ? 1 : 2)) break;
    const bool is_first = !divides && !negates && !side.constant(side.operand(out.value, 1)).has_value();
    Operation operation{arithmetic, {}, is_first};
    if (!negates) {
      operation.constant = side.operand(out.value, is_first ? 0 : 1);
      const auto constant = operation.constant ? side.constant(operation.constant) : std::nullopt;
      if (!constant || !is_real(constant->type)) break;
      out.constants.push_back(operation.constant);
    }
    out.operations.push_back(operation);
    out.nodes.push_back(&node);
    out.value = side.operand(out.value, is_first ? 1 : 0);
  }
  return out;
}

/// The product of all constants; nothing if they are too large.
std::optional<Factors> product_of(Side& side, const Scaled& scaled) {
  const bool is_negative = (scaled.nodes.size() - scaled.constants.size()) % 2 != 0;
  Factors out{{}, {is_negative ? -1.0 : 1.0}};
  for (const Operation& operation : scaled.operations) {
    const bool divides = operation.arithmetic == Arithmetic::divide;
    if (operation.constant && !multiply(out, *side.constant(operation.constant), divides)) return std::nullopt;
  }
  return out;
}

/// Whether two numbers are equal up to `halves` of a unit in the last place of a number of this size; none: exactly.
bool are_near(double a, double b, double size, std::size_t halves, DataType type) {
  constexpr double kMargin = 1.01;  // of the products in double
  return std::isfinite(a) && std::isfinite(b) &&
         std::abs(a - b) <= kMargin * static_cast<double>(halves) / 2 * (halves == 0 ? 0 : ulp(size, type));
}

/// How many roundings make one product of constants of the other: none where both have as many.
std::size_t halves_of(std::size_t products_a, std::size_t products_b) {
  return products_a == products_b ? 0 : products_a + products_b - 1;
}

Look one_of_both(const Claim& claim, const Scaled& a, const Scaled& b, std::span<const RefPair> upstream) {
  Look look;
  look.account(a, b);
  look.rewritten.push_back(claim.b.value->producer());
  for (const auto& [of_a, of_b] : upstream) look.claims.push_back({of_a, of_b, {}, {}, {}, {}, claim.b.value->producer()});
  return look;
}

/// The table of a Gather or Slice, if it is a constant.
std::optional<Constant> table_of(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  const bool takes_parts = node != nullptr && (node->is("Gather") || (node->is("Slice") && node->inputs().size() > 2));
  if (!takes_parts || !side.operand(output, 0)) return std::nullopt;
  auto table = side.constant(side.operand(output, 0));
  return table && is_real(table->type) && !table->dims.empty() && table->data.byte_size() > 0 ? std::move(table) : std::nullopt;
}

/// The operations on what is taken from a table, as operations on the table.
class TableSteps {
 public:
  /// `axis`: along which parts are taken; the last one stands for any.
  [[nodiscard]] static std::optional<TableSteps> read(Side& side, const Scaled& scaled, const Dims& table, int64_t axis) {
    TableSteps out;
    const bool may_be_row = axis + 1 != std::ssize(table);
    for (auto at = scaled.operations.rbegin(); at != scaled.operations.rend(); ++at) {
      Step& step = out.steps_.emplace_back(Step{at->arithmetic, at->is_first, {}});
      if (!at->constant) continue;
      const Constant constant = *side.constant(at->constant);
      // One number, or one for each place along the table's last axis; no dims are added.
      const bool is_number = element_count(constant.dims) == 1, is_row = may_be_row && constant.dims == Dims{table.back()};
      if (constant.dims.size() + 1 > std::min<std::size_t>(table.size(), 2) || (!is_number && !is_row)) return std::nullopt;
      step.numbers = to_doubles(constant.load());
    }
    return out;
  }

  [[nodiscard]] std::size_t count() const noexcept { return steps_.size(); }
  /// The result, and the size of the largest term that it was summed from.
  [[nodiscard]] std::pair<double, double> apply(double value, std::size_t column) const {
    double size = std::abs(value);
    for (const Step& step : steps_) {
      const double number = step.numbers.empty() ? -1 : step.numbers[step.numbers.size() == 1 ? 0 : column];
      const bool adds = step.arithmetic == Arithmetic::add || step.arithmetic == Arithmetic::subtract;
      const double factor = step.arithmetic == Arithmetic::divide                      ? 1 / number
                            : !adds                                                    ? number
                            : step.arithmetic == Arithmetic::subtract && step.is_first ? -1
                                                                                       : 1;
      const double shift = !adds ? 0 : step.arithmetic == Arithmetic::subtract && !step.is_first ? -number : number;
      value = factor * value + shift;
      size = std::max(std::abs(factor) * size, std::abs(shift));
    }
    return {value, size};
  }

 private:
  struct Step {
    Arithmetic arithmetic;
    bool is_first;
    std::vector<double> numbers;
  };
  std::vector<Step> steps_;
};

/// Whether the operations make each element of one table that of the other.
bool are_one_table(const Constant& a, const TableSteps& steps_a, const Constant& b, const TableSteps& steps_b) {
  const int64_t rows = a.dims[0], step = rows_per_piece(a.data), row = a.data.byte_size() / rows;
  const std::size_t width = as_size(a.dims.back()), halves = halves_of(steps_a.count() + 1, steps_b.count() + 1);
  std::vector<std::byte> piece_a(as_size(row * step)), piece_b(piece_a.size());
  std::vector<double> numbers_a(piece_a.size() / memory_size(a.type)), numbers_b(numbers_a.size());
  for (int64_t begin = 0; begin < rows; begin += step) {
    check_interrupt();
    const int64_t count = std::min(step, rows - begin);
    const std::size_t bytes = as_size(row * count), elements = bytes / memory_size(a.type);
    a.data.read_rows(begin, count, {piece_a.data(), bytes});
    b.data.read_rows(begin, count, {piece_b.data(), bytes});
    to_doubles(a.type, piece_a.data(), elements, numbers_a.data());
    to_doubles(b.type, piece_b.data(), elements, numbers_b.data());
    for (std::size_t i = 0; i < elements; ++i) {
      const auto [of_a, size_a] = steps_a.apply(numbers_a[i], i % width);
      const auto [of_b, size_b] = steps_b.apply(numbers_b[i], i % width);
      if (!are_near(of_a, of_b, std::max(size_a, size_b), halves, a.type)) return false;
    }
  }
  return true;
}

Found examine_tables(Sides& sides, const Claim& claim, Scaled a, Scaled b) {
  const auto table_a = table_of(sides.a, a.value), table_b = table_of(sides.b, b.value);
  if (!table_a || !table_b || table_a->type != table_b->type || table_a->dims != table_b->dims) return std::nullopt;
  const Node &node_a = *a.value.value->producer(), &node_b = *b.value.value->producer();
  const AttributeReader attributes_a(node_a, a.value.call), attributes_b(node_b, b.value.call);
  const int64_t rank = std::ssize(table_a->dims), axis_a = attributes_a.integer("axis", 0), axis_b = attributes_b.integer("axis", 0);
  const int64_t axis = axis_a < 0 ? axis_a + rank : axis_a;
  if (attributes_a.is_open() || attributes_b.is_open() || axis != (axis_b < 0 ? axis_b + rank : axis_b)) return std::nullopt;
  if (!same_operator(node_a, node_b) || node_a.inputs().size() != node_b.inputs().size()) return std::nullopt;
  const int64_t taken_along = node_a.is("Slice") ? rank - 1 : axis;
  const auto steps_a = TableSteps::read(sides.a, a, table_a->dims, taken_along);
  const auto steps_b = steps_a ? TableSteps::read(sides.b, b, table_b->dims, taken_along) : std::nullopt;
  if (!steps_b || !are_one_table(*table_a, *steps_a, *table_b, *steps_b)) return std::nullopt;
  std::vector<RefPair> positions;
  for (std::size_t i = 1; i < node_a.inputs().size(); ++i) {
    const Ref of_a = sides.a.operand(a.value, i), of_b = sides.b.operand(b.value, i);
    if (static_cast<bool>(of_a) != static_cast<bool>(of_b)) return std::nullopt;
    if (of_a) positions.emplace_back(of_a, of_b);
  }
  const auto add = [](Scaled& scaled, Side& side) {
    scaled.nodes.push_back(scaled.value.value->producer());
    scaled.constants.push_back(side.operand(scaled.value, 0));
  };
  add(a, sides.a);
  add(b, sides.b);
  return one_of_both(claim, a, b, positions);
}

/// One constant alone has no other to be merged with.
bool may_be_merged(const Scaled& a, const Scaled& b, bool as_many) {
  return a.value && b.value && (a.nodes.size() != b.nodes.size() || (as_many && a.nodes.size() > 1));
}

Found examine_factors(Sides& sides, const Claim& claim, bool as_many) {
  if (claim.b.value->producer() == nullptr || claim.a.value->producer() == nullptr) return std::nullopt;
  Scaled a = read_scaled(sides.a, claim.a, true), b = read_scaled(sides.b, claim.b, true);
  if (!may_be_merged(a, b, as_many) || !sides.have_one_type(claim.a, claim.b)) return std::nullopt;
  if (Found found = examine_tables(sides, claim, std::move(a), std::move(b))) return found;
  a = read_scaled(sides.a, claim.a, false);
  b = read_scaled(sides.b, claim.b, false);
  if (!may_be_merged(a, b, as_many) || a.nodes.empty() || b.nodes.empty()) return std::nullopt;
  const auto by_a = product_of(sides.a, a), by_b = by_a ? product_of(sides.b, b) : std::nullopt;
  if (!by_b || by_a->dims != by_b->dims) return std::nullopt;
  const std::size_t halves = halves_of(a.constants.size(), b.constants.size());
  const DataType type = sides.b.type_of(claim.b);
  for (std::size_t i = 0; i < by_a->numbers.size(); ++i) {
    if (!are_near(by_a->numbers[i], by_b->numbers[i], by_b->numbers[i], halves, type)) return std::nullopt;
  }
  return one_of_both(claim, a, b, std::array{RefPair(a.value, b.value)});
}

}  // namespace

Found examine_merged_factors(Sides& sides, const Claim& claim) {
  return examine_factors(sides, claim, false);
}

Found examine_spread_factors(Sides& sides, const Claim& claim) {
  return examine_factors(sides, claim, true);
}

}  // namespace relayout::proof
