#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace relayout {

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
