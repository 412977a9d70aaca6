// Describes in which order the axes of a tensor lie in memory, and converts orders from and to strides and permutations.
#include "layout/axis_order.h"

#include <numeric>

#include "base/positions.h"
#include "model/node.h"
#include "ops/loops/strided.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

std::size_t at(int64_t axis) {
  return as_size(axis);
}

}  // namespace

AxisOrder contiguous_axes(std::size_t rank) {
  AxisOrder out(rank);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

AxisOrder channels_last_axes(std::size_t rank) {
  return rank > 2 ? to_channels_last(rank) : contiguous_axes(rank);
}

AxisOrder order_of(std::span<const int64_t> all_axes, const Dims& dims) {
  AxisOrder out;
  for (const int64_t axis : all_axes) {
    if (dims[at(axis)] != 1) out.push_back(axis);
  }
  return out;
}

AxisOrder extend(const AxisOrder& order, const Dims& dims) {
  if (AxisOrder axes = channels_last_axes(dims.size()); order_of(axes, dims) == order) return axes;
  AxisOrder out = order;
  for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
    if (std::ranges::find(out, axis) != out.end()) continue;
    const auto predecessor = std::ranges::find(out, axis - 1);
    out.insert(axis == 0 || predecessor == out.end() ? out.begin() : predecessor + 1, axis);
  }
  return out;
}

bool is_contiguous(const AxisOrder& order) {
  return std::ranges::is_sorted(order);
}

Dims strides_of(const AxisOrder& order, const Dims& dims) {
  const AxisOrder axes = is_contiguous(order) ? contiguous_axes(dims.size()) : extend(order, dims);
  Dims out(dims.size());
  int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    out[at(axes[i])] = stride;
    stride *= std::max<int64_t>(dims[at(axes[i])], 1);
  }
  return out;
}

std::optional<AxisOrder> order_of_strides(const Dims& dims, const Dims& strides) {
  if (std::ranges::find(dims, 0) != dims.end()) return std::nullopt;
  AxisOrder out = order_of(contiguous_axes(dims.size()), dims);
  std::ranges::stable_sort(out, [&](int64_t a, int64_t b) { return strides[at(a)] > strides[at(b)]; });
  int64_t extent = 1;  // elements from the first to the last of one index of the dim
  for (std::size_t i = out.size(); i-- > 0;) {
    if (strides[at(out[i])] < extent) return std::nullopt;
    extent += strides[at(out[i])] * (dims[at(out[i])] - 1);
  }
  return out;
}

bool is_dense(const Dims& dims, const Dims& strides) {
  const auto order = order_of_strides(dims, strides);
  if (!order) return std::ranges::find(dims, 0) != dims.end();
  int64_t extent = 1;
  for (std::size_t i = order->size(); i-- > 0;) {
    if (strides[at((*order)[i])] != extent) return false;
    extent *= dims[at((*order)[i])];
  }
  return true;
}

AxisOrder transposed(const AxisOrder& order, std::span<const int64_t> permutation) {
  AxisOrder out;
  for (const int64_t axis : order) out.push_back(std::ranges::find(permutation, axis) - permutation.begin());
  return out;
}

std::optional<AxisOrder> reshaped(const AxisOrder& order, const Dims& from, const Dims& to) {
  const auto strides = reshape_strides(TensorDesc{DataType::float32, from, strides_of(order, from)}, to);
  return strides ? order_of_strides(to, *strides) : std::nullopt;
}

std::string order_name(const AxisOrder& order, const Dims& dims) {
  const bool is_last = order_of(channels_last_axes(dims.size()), dims) == order && dims.size() > 2;
  if (is_contiguous(order)) return is_last ? "both" : "contiguous";
  if (is_last) return "channels-last";
  std::string out;
  for (const int64_t axis : extend(order, dims)) out += (out.empty() ? "" : " ") + std::to_string(axis);
  return out;
}

// Permutations to and from channels-last.

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
