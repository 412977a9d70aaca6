#pragma once

#include <cstdint>

#include "layout/axis_order.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// The two dense orders in which tensors of a plan are kept.
enum class Order : uint8_t { contiguous, channels_last };

/// Strides of a dense tensor: dim 1 innermost for channels_last (rank 3 and more), row-major otherwise.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, Order order);
/// Strides of a dense tensor for any order of dims.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, const layout::AxisOrder& order);
/// Whether strides are those of the order, dims of size 1 aside.
[[nodiscard]] bool is_ordered(const TensorDesc& desc, Order order);
/// Whether the strides put the dims in this order, with gaps, backwards or not; repeated dims (stride 0) do not count.
[[nodiscard]] bool follows(const TensorDesc& desc, const layout::AxisOrder& order);
/// The same order as a permutation of the axes.
[[nodiscard]] layout::AxisOrder axes_of(Order order, const Dims& dims);
/// Bytes of all elements, without gaps.
[[nodiscard]] int64_t byte_count(const TensorDesc& desc);

}  // namespace relayout::exec
