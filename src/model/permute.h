#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace relayout {

/// Copies a dense tensor of elements of `element_size` bytes (1, 2, 4, 8, 16) with its dims permuted: dim i of the target, which is
/// dense too, is dim permutation[i] of the source.
void permute(std::size_t element_size, const std::byte* source, std::span<const int64_t> dims, std::span<const int64_t> permutation,
             std::byte* target);

}  // namespace relayout
