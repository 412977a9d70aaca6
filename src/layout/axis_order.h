#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relayout/tensor.h"

namespace relayout::layout {

/// The order of a tensor's dims in memory, outermost first; dims of size 1 are left out, because they distinguish no orders. Ascending is
/// contiguous; a tensor of one channel or one pixel is contiguous and channels-last at once.
using AxisOrder = std::vector<int64_t>;

/// Orders of all dims, those of size 1 included.
[[nodiscard]] AxisOrder contiguous_axes(std::size_t rank);
[[nodiscard]] AxisOrder channels_last_axes(std::size_t rank);  ///< 0, 2, …, r − 1, 1

/// Without the dims of size 1.
[[nodiscard]] AxisOrder order_of(std::span<const int64_t> all_axes, const Dims& dims);
/// Extends an order of some dims to all: channels-last if that agrees, else each missing dim follows its predecessor.
[[nodiscard]] AxisOrder extend(const AxisOrder& order, const Dims& dims);
[[nodiscard]] bool is_contiguous(const AxisOrder& order);

/// Strides of a dense tensor in this order; dims of size 1 have strides as if they were larger, in channels-last where that agrees.
[[nodiscard]] Dims strides_of(const AxisOrder& order, const Dims& dims);
/// The order that strides describe, with gaps or without; nothing for broadcast, reversed or interleaved dims, and for tensors without
/// elements.
[[nodiscard]] std::optional<AxisOrder> order_of_strides(const Dims& dims, const Dims& strides);
/// Whether there are no gaps between the elements.
[[nodiscard]] bool is_dense(const Dims& dims, const Dims& strides);

/// The order of a Transpose's result if no element moves: result dim i is dim permutation[i].
[[nodiscard]] AxisOrder transposed(const AxisOrder& order, std::span<const int64_t> permutation);
/// The order of the same elements under other dims, if no element has to move.
[[nodiscard]] std::optional<AxisOrder> reshaped(const AxisOrder& order, const Dims& from, const Dims& to);

/// "contiguous", "channels-last", "both" or the dims in memory order: "0 3 1 2".
[[nodiscard]] std::string order_name(const AxisOrder& order, const Dims& dims);

}  // namespace relayout::layout
