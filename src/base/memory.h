#pragma once

#include <cstdint>
#include <limits>

namespace relayout {

/// Alignment of tensors and parts of a scratchpad: a cache line, which is also a vector of AVX-512.
inline constexpr int64_t kLineBytes = 64;

/// `bytes` rounded up to whole lines; the largest int64_t when that exceeds it.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) noexcept {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > kMost - kLineBytes ? kMost : (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Throws Error{io} when a block of `bytes` exceeds the memory of the machine: the system would promise it, and kill this or a different
/// process when it is used.
void require_memory(int64_t bytes);

}  // namespace relayout
