// Counts the elements of an exact output within or beyond the tolerance of a tie, and words them ("scores … and … are … apart, rounding may
// be …").
#include "verify/tie_count.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "verify/ties.h"

namespace relayout {

void TieCount::weigh(double x, double y, double tolerance, const char* what) {
  const std::string text = competitors(what, x, y, tolerance);
  if (tolerance > 0 && std::fabs(x - y) <= tolerance) {
    tie(text);
  } else {
    unexplained(text);
  }
}

std::string competitors(const char* what, double x, double y, double tolerance) {
  return std::string(what) + " " + exact_number(x) + " and " + exact_number(y) + " are " + scientific(std::fabs(x - y)) +
         " apart, rounding may be " + scientific(tolerance);
}

const DeciderOperand& DeciderOperands::operator[](std::size_t i) const {
  static const DeciderOperand kNone;
  return i < all_->size() ? (*all_)[i] : kNone;
}

std::optional<std::vector<double>> DeciderOperands::numbers(std::size_t i) const {
  const Tensor& value = (*this)[i].value;
  return value && kRealTypes.has(value.type()) ? std::optional(reals_of(value)) : std::nullopt;
}

double DeciderOperands::scalar(std::size_t i, double otherwise) const {
  const auto values = numbers(i);
  return values && !values->empty() ? values->front() : otherwise;
}

}  // namespace relayout
