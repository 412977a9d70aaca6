// Multiplies panels of 8-bit integers by the best instructions of the processor.
#include <cstring>

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/integer_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define RELAYOUT_X86 1
#include <immintrin.h>
#endif
#if defined(RELAYOUT_X86) && defined(__linux__)
#define RELAYOUT_AMX __attribute__((target("amx-tile,amx-int8")))
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace relayout::exec {
namespace {

constexpr int64_t kColumns = IntegerPanel::kColumns;
constexpr int64_t kGroup = IntegerPanel::kGroup;
constexpr int64_t kLanes = 16;  ///< columns in one register of 512 bits

void multiply_generic(int64_t rows, int64_t depth, const uint8_t* a, const int8_t* b, int64_t columns, int32_t* c) {
  for (int64_t row = 0; row < rows; ++row, a += depth, c += kColumns) {
    std::fill_n(c, kColumns, 0);
    for (int64_t k = 0; k < depth; k += kGroup) {
      const int8_t* const group = b + k * kColumns;
      const int32_t a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      for (int64_t n = 0; n < columns; ++n) {
        const int8_t* const four = group + n * kGroup;
        const int32_t sum = a0 * four[0] + a1 * four[1] + a2 * four[2] + a3 * four[3];
        c[n] = static_cast<int32_t>(static_cast<uint32_t>(c[n]) + static_cast<uint32_t>(sum));
      }
    }
  }
}

#ifdef RELAYOUT_X86

int32_t four_bytes(const uint8_t* from) {
  int32_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Before loops over the registers of a tile: GCC keeps sums in memory where such loops are left.
#ifdef __clang__
#define RELAYOUT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RELAYOUT_UNROLL _Pragma("GCC unroll 8")
#endif
#define RELAYOUT_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define RELAYOUT_AVX2 __attribute__((target("avx2")))

/// Depth [first, depth); c holds the sums over the depth before `first`.
template <int kRows, int kVectors>
RELAYOUT_VNNI void tile_vnni(int64_t first, int64_t depth, const uint8_t* a, const int8_t* b, int32_t* c) {
  __m512i sums[kRows][kVectors];
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] =
        first == 0 ? _mm512_setzero_si512() : _mm512_loadu_si512(c + r * kColumns + v * kLanes);
  }
  for (int64_t k = first; k < depth; k += kGroup) {
    __m512i right[kVectors];
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + k * kColumns + v * kLanes * kGroup);
    RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
      const __m512i left = _mm512_set1_epi32(four_bytes(a + r * depth + k));
      RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], left, right[v]);
    }
  }
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(c + r * kColumns + v * kLanes, sums[r][v]);
  }
}

template <int kVectors>
RELAYOUT_VNNI void multiply_vnni(int64_t rows, int64_t first, int64_t depth, const uint8_t* a, const int8_t* b, int32_t* c) {
  constexpr int64_t kMost = 6;
  for (; rows >= kMost; rows -= kMost, a += kMost * depth, c += kMost * kColumns) tile_vnni<kMost, kVectors>(first, depth, a, b, c);
  for (; rows >= 2; rows -= 2, a += 2 * depth, c += 2 * kColumns) tile_vnni<2, kVectors>(first, depth, a, b, c);
  if (rows > 0) tile_vnni<1, kVectors>(first, depth, a, b, c);
}

/// GCC 14 copies each of many sums in a loop, which then makes 35 products in a nanosecond in place of 60 (Zen 3, 2026-11-30).
[[gnu::always_inline]] RELAYOUT_AVX2 inline void accumulate(__m256i& sum, __m256i addend) {
  asm("vpaddd %1, %0, %0" : "+x"(sum) : "x"(addend));
}

constexpr int64_t kWideDepth = 256;  ///< with it the weights of a panel stay in the first cache

/// kVectors · 8 columns of kRows rows. Products of bytes fit 16 bits and pairs of them 32, so that nothing saturates. Rows of a are
/// kWideDepth apart; c has the sums over the depth before it if `adds`.
template <int kRows, int kVectors>
RELAYOUT_AVX2 void tile_avx2(int64_t depth, const int16_t* a, const int8_t* b, const int8_t* ahead, bool adds, int32_t* c) {
  __m256i sums[kRows][kVectors][2];  // two halves per column
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v][0] = sums[r][v][1] = _mm256_setzero_si256();
  }
  for (int64_t k = 0; k < depth; k += kGroup) {
    __m256i right[kVectors][2];
    _mm_prefetch(ahead + k * kVectors * 8, _MM_HINT_T0);
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
      const auto* const from = reinterpret_cast<const __m128i*>(b + k * kColumns + v * 8 * kGroup);
      right[v][0] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
      right[v][1] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1));
    }
    RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
      int64_t four = 0;
      std::memcpy(&four, a + r * kWideDepth + k, sizeof four);
      const __m256i left = _mm256_set1_epi64x(four);
      RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
        accumulate(sums[r][v][0], _mm256_madd_epi16(left, right[v][0]));
        accumulate(sums[r][v][1], _mm256_madd_epi16(left, right[v][1]));
      }
    }
  }
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
      auto* const out = reinterpret_cast<__m256i*>(c + r * kColumns + v * 8);
      const __m256i mixed = _mm256_hadd_epi32(sums[r][v][0], sums[r][v][1]);  // columns 0 1 4 5 2 3 6 7
      const __m256i sum = _mm256_permute4x64_epi64(mixed, 0b11011000);
      _mm256_storeu_si256(out, adds ? _mm256_add_epi32(sum, _mm256_loadu_si256(out)) : sum);
    }
  }
}

/// Rows of a are `stride` apart; the next `depth` rows of b are fetched meanwhile.
template <int kRows, int kVectors>
RELAYOUT_AVX2 void rows_avx2(int64_t depth, int64_t stride, const uint8_t* a, const int8_t* b, int64_t columns, bool adds, int32_t* c) {
  alignas(32) int16_t wide[kRows * kWideDepth];
  for (int r = 0; r < kRows; ++r) {
    for (int64_t k = 0; k < depth; ++k) wide[r * kWideDepth + k] = a[r * stride + k];
  }
  for (int64_t n = 0; n < columns; n += kVectors * 8) {
    tile_avx2<kRows, kVectors>(depth, wide, b + n * kGroup, b + depth * (kColumns + n), adds, c + n);
  }
}

RELAYOUT_AVX2 void multiply_avx2(int64_t rows, int64_t depth, const uint8_t* a, const int8_t* b, int64_t columns, int32_t* c) {
  constexpr int64_t kMost = 4;
  for (int64_t first = 0; first < depth; first += kWideDepth) {
    const int64_t count = std::min(kWideDepth, depth - first);
    const auto multiply = [&](auto product, int64_t row) {
      product(count, depth, a + row * depth + first, b + first * kColumns, columns, first > 0, c + row * kColumns);
    };
    int64_t row = 0;
    for (; row + kMost <= rows; row += kMost) multiply(rows_avx2<kMost, 1>, row);
    for (; row + 2 <= rows; row += 2) multiply(rows_avx2<2, 2>, row);
    if (row < rows) multiply(rows_avx2<1, 4>, row);
  }
}

#endif

#ifdef RELAYOUT_AMX

constexpr int64_t kTileRows = 16, kTileDepth = 64;

/// Requests the permission that Linux requires for the state of the tiles (arch_prctl(2)).
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Whole tiles: a multiple of 16 rows, of 64 in depth. Tiles 0 to 3 are sums of 16 columns each, tile 4 is of a, 5 of b.
RELAYOUT_AMX void tiles_amx(int64_t rows, int64_t depth, int64_t a_stride, const uint8_t* a, const int8_t* b, int32_t* c) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } const shapes;
  _tile_loadconfig(&shapes);
  constexpr int64_t kRowBytes = kColumns * kGroup, kTileBytes = 64;
  for (int64_t row = 0; row < rows; row += kTileRows, a += kTileRows * a_stride, c += kTileRows * kColumns) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < depth; k += kTileDepth) {
      const int8_t* const from = b + k * kColumns;
      _tile_loadd(4, a + k, a_stride);
      _tile_loadd(5, from, kRowBytes);
      _tile_dpbusd(0, 4, 5);
      _tile_loadd(5, from + kTileBytes, kRowBytes);
      _tile_dpbusd(1, 4, 5);
      _tile_loadd(5, from + 2 * kTileBytes, kRowBytes);
      _tile_dpbusd(2, 4, 5);
      _tile_loadd(5, from + 3 * kTileBytes, kRowBytes);
      _tile_dpbusd(3, 4, 5);
    }
    _tile_stored(0, c, kRowBytes);
    _tile_stored(1, c + kLanes, kRowBytes);
    _tile_stored(2, c + 2 * kLanes, kRowBytes);
    _tile_stored(3, c + 3 * kLanes, kRowBytes);
  }
  _tile_release();
}

/// Elements outside whole tiles are left to the other instructions.
void multiply_amx(int64_t rows, int64_t depth, const uint8_t* a, const int8_t* b, int32_t* c) {
  const int64_t tile_rows = rows / kTileRows * kTileRows, tile_depth = depth / kTileDepth * kTileDepth;
  if (tile_rows > 0 && tile_depth > 0) {
    tiles_amx(tile_rows, tile_depth, depth, a, b, c);
    if (tile_depth < depth) multiply_vnni<4>(tile_rows, tile_depth, depth, a, b, c);
  } else if (tile_rows > 0) {
    multiply_vnni<4>(tile_rows, 0, depth, a, b, c);
  }
  if (tile_rows < rows) multiply_vnni<4>(rows - tile_rows, 0, depth, a + tile_rows * depth, b, c + tile_rows * kColumns);
}

#endif

/// Four adjacent rows of up to 64 columns, interleaved.
RELAYOUT_VECTORIZE void pack_group(const uint8_t* rows, int64_t stride, uint8_t flip, int64_t columns, uint8_t* out, int32_t* sums) {
  const uint8_t *const second = rows + stride, *const third = second + stride, *const fourth = third + stride;
  const uint32_t flips = flip * 0x01010101U;
  uint32_t words[kColumns];
  for (int64_t n = 0; n < columns; ++n) {
    words[n] = (uint32_t{rows[n]} | uint32_t{second[n]} << 8U | uint32_t{third[n]} << 16U | uint32_t{fourth[n]} << 24U) ^ flips;
  }
  for (int64_t n = 0; n < columns; ++n) {
    const auto word = static_cast<int32_t>(words[n]);
    sums[n] += (word << 24 >> 24) + (word << 16 >> 24) + (word << 8 >> 24) + (word >> 24);
  }
  std::memcpy(out, words, as_size(columns) * sizeof(uint32_t));
}

}  // namespace

void pack_panels(const ByteMatrix& matrix, std::byte* packed) {
  const int64_t depth = padded_depth(matrix.depth);
  const uint8_t flip = matrix.is_unsigned ? 0x80 : 0;
  for (int64_t begin = 0; begin < matrix.columns; begin += kColumns, packed += panel_bytes(matrix.depth)) {
    const int64_t count = std::min(kColumns, matrix.columns - begin);
    int32_t sums[kColumns] = {};
    if (count < kColumns || depth != matrix.depth) std::memset(packed, 0, as_size(kColumns * depth));
    auto* out = reinterpret_cast<uint8_t*>(packed);
    for (int64_t k = 0; k < matrix.depth; k += kGroup, out += kColumns * kGroup) {
      const std::byte* const rows = matrix.data + k * matrix.depth_stride + begin * matrix.column_stride;
      if (matrix.column_stride == 1 && k + kGroup <= matrix.depth) {
        pack_group(reinterpret_cast<const uint8_t*>(rows), matrix.depth_stride, flip, count, out, sums);
        continue;
      }
      for (int64_t j = 0; j < std::min(kGroup, matrix.depth - k); ++j) {
        for (int64_t n = 0; n < count; ++n) {
          const auto byte = static_cast<uint8_t>(rows[j * matrix.depth_stride + n * matrix.column_stride]);
          out[n * kGroup + j] = static_cast<uint8_t>(byte ^ flip);
          sums[n] += static_cast<int8_t>(byte ^ flip);
        }
      }
    }
    std::memcpy(packed + kColumns * depth, sums, sizeof sums);
  }
}

IntegerIsa best_integer_isa() {
  static const IntegerIsa best = [] {
#ifdef RELAYOUT_X86
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
#ifdef RELAYOUT_AMX
      if (__builtin_cpu_supports("amx-int8") && may_use_tiles()) return IntegerIsa::amx;
#endif
      return IntegerIsa::avx512_vnni;
    }
    if (__builtin_cpu_supports("avx2")) return IntegerIsa::avx2;
#endif
    return IntegerIsa::generic;
  }();
  return best;
}

std::string_view isa_name(IntegerIsa isa) {
  switch (isa) {
    case IntegerIsa::generic:
      return "generic";
    case IntegerIsa::avx2:
      return "avx2";
    case IntegerIsa::avx512_vnni:
      return "avx512_vnni";
    case IntegerIsa::amx:
      return "amx";
  }
  return "";
}

void multiply_panel(IntegerIsa isa, int64_t rows, int64_t depth, const uint8_t* a, const std::byte* panel, int64_t columns, int32_t* c) {
  const auto* const b = reinterpret_cast<const int8_t*>(panel);
  const int64_t padded = padded_depth(depth);
#ifdef RELAYOUT_X86
#ifdef RELAYOUT_AMX
  if (isa == IntegerIsa::amx && columns > 2 * kLanes) return multiply_amx(rows, padded, a, b, c);
#endif
  if (isa >= IntegerIsa::avx512_vnni) {
    if (columns <= kLanes) return multiply_vnni<1>(rows, 0, padded, a, b, c);
    if (columns <= 2 * kLanes) return multiply_vnni<2>(rows, 0, padded, a, b, c);
    return multiply_vnni<4>(rows, 0, padded, a, b, c);
  }
  if (isa == IntegerIsa::avx2) return multiply_avx2(rows, padded, a, b, columns, c);
#endif
  multiply_generic(rows, padded, a, b, columns, c);
}

}  // namespace relayout::exec
