#pragma once

#include <cstdint>
#include <limits>

namespace relayout {

/// Where tensors and parts of a scratchpad begin: at multiples of a cache line, which is a vector of AVX-512.
inline constexpr int64_t kLineBytes = 64;

/// Bytes up to the next line behind `bytes`; the largest number where that is beyond 2^63.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) noexcept {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > kMost - kLineBytes ? kMost : (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Fails (ErrorKind::io) where one block of `bytes` is more than the memory of the machine: the system would promise it, and end the
/// process, or another one, when it is used.
void require_memory(int64_t bytes);

}  // namespace relayout
