#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

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

// Orders of a convolution weight. Logical: [O, I/g, k…], for ConvTranspose [I, O/g, k…]. Channels-last: [O, k…, I/g], dim 1 innermost, as
// PyTorch defines its memory format channels_last.

/// Stored dim i is logical dim result[i]: 0, 2, …, r − 1, 1.
[[nodiscard]] Dims to_channels_last(std::size_t rank);
/// The inverse, which is the `perm` of the Transpose that reads a channels-last weight: 0, r − 1, 1, …, r − 2.
[[nodiscard]] Dims from_channels_last(std::size_t rank);
[[nodiscard]] Dims inverse(std::span<const int64_t> permutation);
/// Whether both orders are the same bytes: at most one of dim 1 and the kernel has more than one element, or the tensor has none at all.
[[nodiscard]] bool is_both_layouts(std::span<const int64_t> dims);
/// `perm` of a Transpose for an operand of this rank, given or by default; nothing when it is not a permutation of that rank.
[[nodiscard]] std::optional<Dims> permutation_of(const Node& transpose, std::size_t rank);
/// Whether Transpose of this opset takes the element type.
[[nodiscard]] bool is_transposable(DataType type, int64_t opset);

}  // namespace relayout::layout
