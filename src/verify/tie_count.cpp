// Counts the elements that rounding may have decided, and reads the operands by which a node decided.
#include "verify/tie_count.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"
#include "verify/elements.h"
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

std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> out;
  out.reserve(as_size(tensor.element_count()));
  for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> values) { out.insert(out.end(), values.begin(), values.end()); });
  return out;
}

const DeciderOperand& DeciderOperands::operator[](std::size_t i) const {
  static const DeciderOperand kNone;
  return i < all_->size() ? (*all_)[i] : kNone;
}

std::optional<std::vector<double>> DeciderOperands::numbers(std::size_t i) const {
  const Tensor& value = (*this)[i].value;
  return value && kRealTypes.has(value.type()) ? std::optional(doubles_of(value)) : std::nullopt;
}

double DeciderOperands::scalar(std::size_t i, double otherwise) const {
  const auto values = numbers(i);
  return values && !values->empty() ? values->front() : otherwise;
}

}  // namespace relayout
