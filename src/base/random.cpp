// Random numbers by position: element i of a stream is the same on every machine and thread.
#include "base/random.h"

#include <cmath>
#include <numbers>
#include <string_view>

namespace relayout {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

/// splitmix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t sample) noexcept : key_(mix(seed + kGolden)) {
  for (const char c : name) key_ = mix(key_ ^ static_cast<unsigned char>(c)) + kGolden;
  key_ = mix(key_ ^ (sample + 1) * kGolden);
}

uint64_t RandomStream::bits(uint64_t index) const noexcept {
  return mix(key_ + (index + 1) * kGolden);
}

double RandomStream::uniform(uint64_t index) const noexcept {
  return static_cast<double>(bits(index) >> 11U) * 0x1p-53;
}

double RandomStream::normal(uint64_t index) const noexcept {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

double RandomStream::nearly_normal(uint64_t index) const noexcept {
  const uint64_t drawn = bits(index);
  const auto sum = static_cast<int64_t>((drawn & 0xffffU) + (drawn >> 16U & 0xffffU) + (drawn >> 32U & 0xffffU) + (drawn >> 48U));
  return static_cast<double>(sum - int64_t{2} * 0xffff) * (std::numbers::sqrt3 / 0x1p16);
}

uint64_t RandomStream::below(uint64_t index, uint64_t bound) const noexcept {
  return static_cast<uint64_t>((static_cast<Wide>(bits(index)) * bound) >> 64U);
}

}  // namespace relayout
