// Draws random numbers that are the same on every machine and thread, by seed, name and position.
#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/hash.h"
#include "base/vectorize.h"

namespace relayout {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t kTwoTo52 = 0x4330000000000000U;  // its bits: an integer below 2⁵² in the low bits is added to it

[[gnu::always_inline]] inline uint64_t word_at(uint64_t key, uint64_t index) {
  return mix(key + (index + 1) * kGoldenRatio);
}

// Logarithm and cosine for normal(), to 2 ulp, in operations that IEEE 754 defines and vectors have. The C library's functions differ
// between machines, and took a fifth of a verification of a small network (mobilenet_v3_small, Xeon).

/// log(x) for x in (0, 1]: x = 2^k · m with m in [√½, √2), log m = 2 atanh(t) with t = (m − 1) / (m + 1), |t| ≤ 0.172.
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDU, kOne = 0x3FF0000000000000U;
  constexpr double kSeries[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t biased = (bits - kRootHalf + kOne) >> 52U;  // k + 1023
  const double k = std::bit_cast<double>(biased | kTwoTo52) - (0x1p52 + 1023);
  const double m = std::bit_cast<double>(bits - (biased << 52U) + kOne);
  const double t = (m - 1.0) / (m + 1.0);
  return k * 0x1.62e42feep-1 + (2.0 * t * polynomial(kSeries, t * t) + k * 0x1.a39ef35793c76p-33);  // ln 2 in two parts
}

/// cos(2π · turns) for turns in [0, 1), by the series of sine and cosine within an eighth of a turn of the nearest quarter.
[[gnu::always_inline]] inline double cosine_of_turns(double turns) {
  constexpr double kRounder = 0x1.8p52;  // adding a number below 2⁵¹ to it rounds the number to the nearest integer
  constexpr double kSine[] = {
      1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  constexpr double kCosine[] = {
      1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
  const double quarter = (4 * turns + kRounder) - kRounder;
  const double angle = (turns - 0.25 * quarter) * (2 * std::numbers::pi);
  const double square = angle * angle;
  const double sine = polynomial(kSine, square) * angle, cosine = polynomial(kCosine, square);
  const double size = ((quarter == 1) | (quarter == 3)) ? sine : cosine;
  return ((quarter == 1) | (quarter == 2)) ? -size : size;
}

/// The upper 53 bits as a fraction of 1.
[[gnu::always_inline]] inline double fraction(uint64_t bits) {
  const double upper = std::bit_cast<double>(bits >> 43U | kTwoTo52) - 0x1p52;
  const double lower = std::bit_cast<double>((bits >> 11U & 0xffffffffU) | kTwoTo52) - 0x1p52;
  return upper * 0x1p-21 + lower * 0x1p-53;
}

/// Two words of `index` as a normal number (Box and Muller, A note on the generation of random normal deviates, 1958).
[[gnu::always_inline]] inline double normal_at(uint64_t key, uint64_t index) {
  const double radius = std::sqrt(-2.0 * logarithm(1.0 - fraction(word_at(key, 2 * index))));
  return radius * cosine_of_turns(fraction(word_at(key, 2 * index + 1)));
}

RELAYOUT_VECTORIZE void fill_normals(uint64_t key, uint64_t first, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = normal_at(key, first + i);
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t sample) noexcept : key_(mix(seed + kGoldenRatio)) {
  for (const char c : name) key_ = mix(key_ ^ static_cast<unsigned char>(c)) + kGoldenRatio;
  key_ = mix(key_ ^ (sample + 1) * kGoldenRatio);
}

double RandomStream::uniform(uint64_t index) const noexcept {
  return fraction(bits(index));
}

double RandomStream::normal(uint64_t index) const noexcept {
  return normal_at(key_, index);
}

void RandomStream::normals(uint64_t first, std::span<double> out) const noexcept {
  fill_normals(key_, first, out.data(), out.size());
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
