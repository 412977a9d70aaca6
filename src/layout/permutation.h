#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::layout {

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
