// Permutations to and from channels-last, of weights and Transpose nodes; dims for which both layouts are the same; the first opset whose
// Transpose accepts an element type.

#include "layout/permutation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "base/positions.h"
#include "model/attributes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::layout {

Dims to_channels_last(std::size_t rank) {
  Dims out = {0};
  for (std::size_t i = 2; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  out.push_back(1);
  return out;
}

Dims from_channels_last(std::size_t rank) {
  return inverse(to_channels_last(rank));
}

Dims inverse(std::span<const int64_t> permutation) {
  Dims out(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) element_at(out, permutation[i]) = static_cast<int64_t>(i);
  return out;
}

bool is_both_layouts(std::span<const int64_t> dims) {
  if (std::ranges::find(dims, 0) != dims.end() || dims.size() < 3 || dims[1] == 1) return true;
  return std::ranges::all_of(dims.subspan(2), [](int64_t dim) { return dim == 1; });
}

std::optional<Dims> permutation_of(const Node& transpose, std::size_t rank) {
  const Attributes attributes(transpose);
  if (attributes.has_reference()) return std::nullopt;
  Dims out = attributes.integers("perm");
  if (out.empty()) {
    for (std::size_t i = rank; i-- > 0;) out.push_back(static_cast<int64_t>(i));
  }
  Dims sorted = out;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < rank; ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  return out;
}

bool is_transposable(DataType type, int64_t opset) {
  // ONNX, operator changelog: type constraint T of Transpose-1, -13, -21, -23, -24, -25.
  switch (type) {
    case DataType::undefined:
      return false;
    case DataType::bfloat16:
      return opset >= 13;
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::int4:
    case DataType::uint4:
      return opset >= 21;
    case DataType::float4e2m1:
      return opset >= 23;
    case DataType::float8e8m0:
      return opset >= 24;
    case DataType::int2:
    case DataType::uint2:
      return opset >= 25;
    default:
      return opset >= 1;
  }
}

}  // namespace relayout::layout
