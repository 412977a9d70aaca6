// Compares kinds, types and dims of two values before any numbers count, and words their difference.
#include "verify/run/data_structure.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/positions.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr std::size_t kMaxDescribed = 4;

void collect_leaves(const Datum& datum, std::vector<Tensor>& out) {
  if (datum.kind == Datum::Kind::tensor) {
    out.push_back(datum.tensor);
    return;
  }
  // Keys of a map are part of its structure.
  for (std::size_t i = datum.kind == Datum::Kind::map ? 1 : 0; i < datum.elements.size(); ++i) collect_leaves(datum.elements[i], out);
}

/// Whether two tensors of one type and equal dims have the same bits.
bool equal_elements(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(a), y = contiguous(b);
  const int64_t count = x.element_count();
  if (x.type() == DataType::string) return std::equal(x.data<std::string>(), x.data<std::string>() + count, y.data<std::string>());
  return count == 0 || std::memcmp(x.bytes(), y.bytes(), as_size(count) * memory_size(x.type())) == 0;
}

}  // namespace

std::vector<Tensor> leaves(const Datum& datum) {
  std::vector<Tensor> out;
  collect_leaves(datum, out);
  return out;
}

std::string describe(const Datum& datum) {
  if (datum.kind == Datum::Kind::tensor) {
    return datum.tensor ? std::string(name_of(datum.tensor.type())) + to_string(datum.tensor.dims()) : "nothing";
  }
  if (datum.kind == Datum::Kind::optional) return datum.elements.empty() ? "nothing" : "optional " + describe(datum.elements.front());
  if (datum.kind == Datum::Kind::map) return "map to " + describe(datum.elements.back());
  std::string out = "sequence of " + std::to_string(datum.elements.size());
  for (std::size_t i = 0; i < datum.elements.size() && i < kMaxDescribed; ++i) out += (i == 0 ? ": " : ", ") + describe(datum.elements[i]);
  return datum.elements.size() > kMaxDescribed ? out + " …" : out;
}

std::string structural_difference(const Datum& a, const Datum& b) {
  const bool same_here = a.kind == b.kind && a.elements.size() == b.elements.size() && a.tensor.type() == b.tensor.type() &&
                         a.tensor.dims() == b.tensor.dims();
  if (!same_here) return describe(b) + ", was " + describe(a);
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    const std::string inner = structural_difference(a.elements[i], b.elements[i]);
    if (!inner.empty()) return a.kind == Datum::Kind::sequence ? "element " + std::to_string(i) + ": " + inner : inner;
  }
  const bool has_other_keys = a.kind == Datum::Kind::map && !equal_elements(a.elements.front().tensor, b.elements.front().tensor);
  return has_other_keys ? "a map with other keys" : std::string();
}

bool bit_equal(const Datum& a, const Datum& b) {
  if (!structural_difference(a, b).empty()) return false;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  return std::ranges::equal(left, right, [](const Tensor& x, const Tensor& y) { return !x || equal_elements(x, y); });
}

}  // namespace relayout
