// Declares hash functions of numbers and bytes.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

/// A set of hashes with open addressing. A slot is a hash, without a node per element as in std::unordered_set. Hashes must be well mixed.
class HashSet {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  void reserve(std::size_t hashes) {
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(hashes * 4 / 3 + 1, kFewest));
    if (capacity > places_.size()) rehash(capacity);
  }

  /// Inserts a hash; false if the set already has it.
  bool insert(std::size_t hash) {
    if ((count_ + 1) * 4 > places_.size() * 3) rehash(std::max(places_.size() * 2, kFewest));
    if (!place(hash == kFree ? 1 : hash)) return false;
    ++count_;
    return true;
  }

 private:
  static constexpr std::size_t kFewest = 16, kFree = 0;

  bool place(std::size_t hash) noexcept {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash & mask;
    for (; places_[at] != kFree; at = (at + 1) & mask) {
      if (places_[at] == hash) return false;
    }
    places_[at] = hash;
    return true;
  }

  void rehash(std::size_t capacity) {
    const std::vector<std::size_t> old = std::exchange(places_, std::vector<std::size_t>(capacity, kFree));
    for (const std::size_t hash : old) {
      if (hash != kFree) place(hash);
    }
  }

  std::vector<std::size_t> places_;  ///< their number is a power of two or 0; at most three quarters are taken
  std::size_t count_ = 0;
};

}  // namespace relayout
