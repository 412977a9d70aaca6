#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace relayout {

/// Counter-based generator: value i of a stream depends only on key and i (splitmix64's finaliser), so that a change of size or of a
/// different stream shifts nothing.
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name, uint64_t sample = 0) noexcept;
  [[nodiscard]] uint64_t bits(uint64_t index) const noexcept { return mix(key_ + (index + 1) * kGoldenRatio); }
  [[nodiscard]] double uniform(uint64_t index) const noexcept;  ///< [0, 1), 53 bits
  [[nodiscard]] double normal(uint64_t index) const noexcept;   ///< N(0, 1) by Box–Muller over two words of `index`
  /// normal() for consecutive indices from `first`, computed in vectors.
  void normals(uint64_t first, std::span<double> out) const noexcept;
  /// Mean 0, variance 1, within 3.47: the sum of four uniform numbers, which takes no logarithm and no cosine.
  [[nodiscard]] double nearly_normal(uint64_t index) const noexcept;
  /// Uniform in [0, bound), bound > 0.
  [[nodiscard]] uint64_t below(uint64_t index, uint64_t bound) const noexcept;

 private:
  uint64_t key_;
};

}  // namespace relayout
