// Computes SHA-256, with the processor's instructions where available, and keys of cached results from it.
#include "base/sha256.h"

#include <bit>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/positions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace relayout {
namespace {

// Fractional parts of the square roots of the first 8 and the cube roots of the first 64 primes (FIPS 180-4, 5.3.3 and 4.2.2).
constexpr std::array<uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
alignas(16) constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const std::byte* bytes) {
  uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8U | std::to_integer<uint32_t>(bytes[i]);
  return word;
}

}  // namespace

Sha256::Sha256(bool portable) : state_(kStart), compress_(!portable && has_acceleration() ? compress_accelerated : compress) {}

void Sha256::compress(State& state, const std::byte* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += kBlock) {
    std::array<uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(blocks + 4 * t);
    for (std::size_t t = 16; t < 64; ++t) {
      const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3U;
      const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10U;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const State add = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += add[i];
  }
}

#if defined(__x86_64__)

bool Sha256::has_acceleration() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kSsse3AndSse41 = 1U << 9U | 1U << 19U;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3AndSse41) != kSsse3AndSse41) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1U << 29U) != 0;
}

/// Intel's SHA extensions hold the state as {a,b,e,f} and {c,d,g,h} and do two rounds per instruction.
__attribute__((target("sha,sse4.1,ssse3"))) void Sha256::compress_accelerated(State& state, const std::byte* blocks, std::size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const auto* const rounds = reinterpret_cast<const __m128i*>(kRound.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data())), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data() + 4)), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, badc, 0xF0);
  for (; count > 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the last sixteen words of the message schedule
    for (int t = 0; t < 16; ++t) {
      __m128i& word = w[t % 4];
      if (t < 4) {
        word = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + t), swap);
      } else {
        const __m128i w7 = _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4);
        word = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(word, w[(t + 1) % 4]), w7), w[(t + 3) % 4]);
      }
      const __m128i sum = _mm_add_epi32(word, _mm_load_si128(rounds + t));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool Sha256::has_acceleration() {
  return false;
}
void Sha256::compress_accelerated(State& state, const std::byte* blocks, std::size_t count) {
  compress(state, blocks, count);
}

#endif

void Sha256::update(std::span<const std::byte> bytes) {
  const auto filled = as_size(size_ % kBlock);
  size_ += bytes.size();
  if (filled > 0) {
    const std::size_t take = std::min(kBlock - filled, bytes.size());
    std::ranges::copy(bytes.first(take), pending_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes = bytes.subspan(take);
    if (filled + take < kBlock) return;
    compress_(state_, pending_.data(), 1);
  }
  const std::size_t whole = bytes.size() / kBlock;
  compress_(state_, bytes.data(), whole);
  bytes = bytes.subspan(whole * kBlock);
  std::ranges::copy(bytes, pending_.begin());
}

Sha256::Digest Sha256::finish() {
  const uint64_t bits = size_ * 8;
  std::array<std::byte, kBlock + 8> padding{std::byte{0x80}};
  const auto filled = as_size(size_ % kBlock);
  const std::size_t zeros = (filled < 56 ? 56 : 120) - filled;
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(padding).first(zeros));
  update(length);
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Sha256::Digest digest_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

std::string to_hex(const Sha256::Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : digest) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::string sha256_of(const File& file) {
  constexpr int64_t kPiece = 256 << 10;
  std::vector<std::byte> buffer(as_size(std::min(kPiece, file.size())));
  Sha256 hash;
  for (int64_t offset = 0; offset < file.size(); offset += kPiece) {
    check_interrupt();
    const std::span<std::byte> piece = std::span(buffer).first(as_size(std::min(kPiece, file.size() - offset)));
    file.read(offset, piece);
    hash.update(piece);
  }
  return to_hex(hash.finish());
}

// Keys of cached results.

void ContentKey::add(std::string_view text) {
  const std::string size = std::to_string(text.size()) + ":";
  digest_.update(std::as_bytes(std::span(size)));
  digest_.update(std::as_bytes(std::span(text)));
}

void ContentKey::add_file(const std::filesystem::path& path) {
  add(sha256_of(*File::open(path)));
}

std::string ContentKey::finish() {
  return to_hex(digest_.finish());
}

}  // namespace relayout
