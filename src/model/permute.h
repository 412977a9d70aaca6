#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace relayout {

/// Copies a dense tensor with its dims permuted to a dense target: dim i of the target is dim permutation[i] of the source. Elements have
/// `element_size` bytes (1, 2, 4, 8, 16).
void permute(std::size_t element_size, const std::byte* source, std::span<const int64_t> dims, std::span<const int64_t> permutation,
             std::byte* target);

}  // namespace relayout
