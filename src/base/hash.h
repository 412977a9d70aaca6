// Hash functions: splitmix64's finaliser (also for random numbers), and FNV-1a.
#pragma once

#include <cstdint>

namespace relayout {

/// The increment of splitmix64's states.
inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
/// splitmix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
[[nodiscard, gnu::always_inline]] constexpr uint64_t mix(uint64_t z) noexcept {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// FNV-1a: the hash of nothing, and a hash that also covers one more byte or word.
inline constexpr uint64_t kFnvBasis = 0xCBF29CE484222325U;
[[nodiscard]] constexpr uint64_t fnv_1a(uint64_t hash, uint64_t word) noexcept {
  return (hash ^ word) * 0x100000001B3U;
}

}  // namespace relayout
