// Multiplies panels of 8-bit integers by the best instructions of the processor.
#include <cstring>

#include "base/machine.h"
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
constexpr int64_t kEight = 8;   ///< of 256 bits

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

/// GCC 14 copies each of many sums in a loop, which then makes 35 products in a nanosecond in place of 60 (AMD EPYC with AVX2, 2026-11-30).
[[gnu::always_inline]] RELAYOUT_AVX2 inline void accumulate(__m256i& sum, __m256i addend) {
  asm("vpaddd %1, %0, %0" : "+x"(sum) : "x"(addend));
}

constexpr int64_t kWideDepth = 256;  ///< with it the weights of a panel stay in the first cache

/// kVectors · 8 columns of kRows rows. Products of bytes fit 16 bits and pairs of them 32, so that nothing saturates. Rows of a are
/// kWideDepth apart; c has the sums over the depth before it if `adds`.
template <int kRows, int kVectors>
RELAYOUT_AVX2 void tile_wide(int64_t depth, const int16_t* a, const int8_t* b, const int8_t* ahead, bool adds, int32_t* c) {
  __m256i sums[kRows][kVectors][2];  // two halves per column
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v][0] = sums[r][v][1] = _mm256_setzero_si256();
  }
  for (int64_t k = 0; k < depth; k += kGroup) {
    __m256i right[kVectors][2];
    _mm_prefetch(ahead + k * kVectors * kEight, _MM_HINT_T0);
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
      const auto* const from = reinterpret_cast<const __m128i*>(b + k * kColumns + v * kEight * kGroup);
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
      auto* const out = reinterpret_cast<__m256i*>(c + r * kColumns + v * kEight);
      const __m256i mixed = _mm256_hadd_epi32(sums[r][v][0], sums[r][v][1]);  // columns 0 1 4 5 2 3 6 7
      const __m256i sum = _mm256_permute4x64_epi64(mixed, 0b11011000);
      _mm256_storeu_si256(out, adds ? _mm256_add_epi32(sum, _mm256_loadu_si256(out)) : sum);
    }
  }
}

/// Rows of a are `stride` apart; the next `depth` rows of b are fetched meanwhile.
template <int kRows, int kVectors>
RELAYOUT_AVX2 void rows_wide(int64_t depth, int64_t stride, const uint8_t* a, const int8_t* b, int64_t columns, bool adds, int32_t* c) {
  alignas(32) int16_t wide[kRows * kWideDepth];
  for (int r = 0; r < kRows; ++r) {
    for (int64_t k = 0; k < depth; ++k) wide[r * kWideDepth + k] = a[r * stride + k];
  }
  for (int64_t n = 0; n < columns; n += kVectors * kEight) {
    tile_wide<kRows, kVectors>(depth, wide, b + n * kGroup, b + depth * (kColumns + n), adds, c + n);
  }
}

RELAYOUT_AVX2 void multiply_wide(int64_t rows, int64_t depth, const uint8_t* a, const int8_t* b, int64_t columns, int32_t* c) {
  constexpr int64_t kMost = 4;
  for (int64_t first = 0; first < depth; first += kWideDepth) {
    const int64_t count = std::min(kWideDepth, depth - first);
    const auto multiply = [&](auto product, int64_t row) {
      product(count, depth, a + row * depth + first, b + first * kColumns, columns, first > 0, c + row * kColumns);
    };
    int64_t row = 0;
    for (; row + kMost <= rows; row += kMost) multiply(rows_wide<kMost, 1>, row);
    for (; row + 2 <= rows; row += 2) multiply(rows_wide<2, 2>, row);
    if (row < rows) multiply(rows_wide<1, 4>, row);
  }
}

// Sums of two products of bytes, as one instruction makes them, would saturate at 16 bits. In panels for AVX2 the second weight of such
// pairs is moved to a list, as long as that is short; where it is not, bytes are widened to 16 bits before they are multiplied.

/// After the sums of a panel: entries, in the order of their columns, of eight columns by a group of rows.
struct MovedWeights {
  int32_t* ends = nullptr;    ///< of the entries of each eight columns; the last is negative where nothing was moved
  int32_t* rows = nullptr;    ///< the first of the group
  int8_t* weights = nullptr;  ///< [entries][8 columns][kGroup]
  int64_t capacity = 0;
};

constexpr int64_t kEights = kColumns / kEight, kEntryBytes = kEight * kGroup;

MovedWeights moved_weights(std::byte* panel, int64_t depth) {
  std::byte* const begin = panel + kColumns * (depth + int64_t{sizeof(int32_t)});
  const int64_t capacity = depth / kGroup;
  auto* const ends = reinterpret_cast<int32_t*>(begin);
  return {ends, ends + kEights, reinterpret_cast<int8_t*>(ends + kEights + capacity), capacity};
}

/// The second weights of pairs with 255 · (b0 + b1) beyond 16 bits, in their places; the others are 0.
RELAYOUT_AVX2 __m256i second_of_large_pairs(__m256i weights) {
  const __m256i one = _mm256_set1_epi8(1), none = _mm256_setzero_si256();
  const __m256i above = _mm256_maddubs_epi16(one, _mm256_max_epi8(weights, none));
  const __m256i below = _mm256_maddubs_epi16(one, _mm256_min_epi8(weights, none));
  const __m256i large =
      _mm256_or_si256(_mm256_cmpgt_epi16(above, _mm256_set1_epi16(128)), _mm256_cmpgt_epi16(_mm256_set1_epi16(-128), below));
  return _mm256_and_si256(weights, _mm256_slli_epi16(large, 8));
}

RELAYOUT_AVX2 void move_weights(std::byte* panel, int64_t depth) {
  const MovedWeights moved = moved_weights(panel, depth);
  const auto place = [&](int64_t eight, int64_t row) { return reinterpret_cast<__m256i*>(panel + row * kColumns + eight * kEntryBytes); };
  int64_t count = 0;
  for (int64_t eight = 0; eight < kEights; ++eight) {
    for (int64_t row = 0; row < depth; row += kGroup) {
      const __m256i weights = _mm256_loadu_si256(place(eight, row)), second = second_of_large_pairs(weights);
      if (_mm256_testz_si256(second, second) != 0) continue;
      if (count == moved.capacity) {  // back to their places
        for (int64_t i = 0, at = 0; i < count; ++i) {
          while (at < eight && i >= moved.ends[at]) ++at;
          const __m256i entry = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(moved.weights + i * kEntryBytes));
          _mm256_storeu_si256(place(at, moved.rows[i]), _mm256_or_si256(entry, _mm256_loadu_si256(place(at, moved.rows[i]))));
        }
        moved.ends[kEights - 1] = -1;
        return;
      }
      _mm256_storeu_si256(place(eight, row), _mm256_andnot_si256(_mm256_cmpeq_epi8(second, weights), weights));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(moved.weights + count * kEntryBytes), second);
      moved.rows[count++] = static_cast<int32_t>(row);
    }
    moved.ends[eight] = static_cast<int32_t>(count);
  }
}

/// Adds the products with moved weights in all columns, for other instructions.
void add_moved(int64_t rows, int64_t depth, const uint8_t* a, const MovedWeights& moved, int32_t* c) {
  for (int64_t i = 0, eight = 0; i < moved.ends[kEights - 1]; ++i) {
    while (i >= moved.ends[eight]) ++eight;
    for (int64_t at = 0; at < rows * kEntryBytes; ++at) {
      const int64_t row = at / kEntryBytes, place = at % kEntryBytes;
      const int32_t product = a[row * depth + moved.rows[i] + place % kGroup] * moved.weights[i * kEntryBytes + place];
      int32_t& sum = c[row * kColumns + eight * kEight + place / kGroup];
      sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(product));
    }
  }
}

/// As tile_wide(), for pairs that do not saturate. Rows of a are `stride` apart.
template <int kRows, int kVectors>
RELAYOUT_AVX2 void tile_bytes(int64_t depth, int64_t stride, const uint8_t* a, const int8_t* b, const int8_t* ahead, bool adds,
                              int32_t* c) {
  const __m256i one = _mm256_set1_epi16(1);
  __m256i sums[kRows][kVectors];
  const auto place = [&](int r, int v) { return reinterpret_cast<__m256i*>(c + r * kColumns + v * kEight); };
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = adds ? _mm256_loadu_si256(place(r, v)) : _mm256_setzero_si256();
  }
  for (int64_t k = 0; k < depth; k += kGroup) {
    __m256i right[kVectors];
    _mm_prefetch(ahead + k * kVectors * kEight, _MM_HINT_T0);
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
      right[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + k * kColumns + v * kEntryBytes));
    }
    RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
      const __m256i left = _mm256_set1_epi32(four_bytes(a + r * stride + k));
      RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) {
        accumulate(sums[r][v], _mm256_madd_epi16(_mm256_maddubs_epi16(left, right[v]), one));
      }
    }
  }
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
    RELAYOUT_UNROLL for (int v = 0; v < kVectors; ++v) _mm256_storeu_si256(place(r, v), sums[r][v]);
  }
}

/// Adds the products with moved weights of eight columns.
template <int kRows>
RELAYOUT_AVX2 void tile_moved(const MovedWeights& moved, int64_t begin, int64_t end, int64_t stride, const uint8_t* a, int32_t* c) {
  const __m256i one = _mm256_set1_epi16(1);
  __m256i sums[kRows];
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) sums[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + r * kColumns));
  for (int64_t i = begin; i < end; ++i) {
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(moved.weights + i * kEntryBytes));
    RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) {
      const __m256i left = _mm256_set1_epi32(four_bytes(a + r * stride + moved.rows[i]));
      accumulate(sums[r], _mm256_madd_epi16(_mm256_maddubs_epi16(left, right), one));
    }
  }
  RELAYOUT_UNROLL for (int r = 0; r < kRows; ++r) _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * kColumns), sums[r]);
}

template <int kRows, int kVectors>
RELAYOUT_AVX2 void rows_bytes(int64_t depth, int64_t stride, const uint8_t* a, const int8_t* b, int64_t columns, bool adds, int32_t* c) {
  for (int64_t n = 0; n < columns; n += kVectors * kEight) {
    tile_bytes<kRows, kVectors>(depth, stride, a, b + n * kGroup, b + depth * (kColumns + n), adds, c + n);
  }
}

RELAYOUT_AVX2 void multiply_bytes(int64_t rows, int64_t depth, const uint8_t* a, const int8_t* b, const MovedWeights& moved,
                                  int64_t columns, int32_t* c) {
  constexpr int64_t kMost = 4;
  for (int64_t first = 0; first < depth; first += kWideDepth) {
    const int64_t count = std::min(kWideDepth, depth - first);
    const auto multiply = [&](auto product, int64_t row) {
      product(count, depth, a + row * depth + first, b + first * kColumns, columns, first > 0, c + row * kColumns);
    };
    int64_t row = 0;
    for (; row + kMost <= rows; row += kMost) multiply(rows_bytes<kMost, 2>, row);
    for (; row + 2 <= rows; row += 2) multiply(rows_bytes<2, 4>, row);
    if (row < rows) multiply(rows_bytes<1, 4>, row);
  }
  for (int64_t eight = 0, begin = 0; eight * kEight < columns; begin = moved.ends[eight++]) {
    if (begin == moved.ends[eight]) continue;
    const auto multiply = [&](auto product, int64_t row) {
      product(moved, begin, moved.ends[eight], depth, a + row * depth, c + row * kColumns + eight * kEight);
    };
    int64_t row = 0;
    for (; row + kMost <= rows; row += kMost) multiply(tile_moved<kMost>, row);
    for (; row < rows; ++row) multiply(tile_moved<1>, row);
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
#ifdef RELAYOUT_X86
    if (best_integer_isa() == IntegerIsa::avx2) move_weights(packed, depth);
#endif
  }
}

int64_t panel_bytes(int64_t depth) {
  const int64_t groups = padded_depth(depth) / kGroup, plain = kColumns * (kGroup * groups + int64_t{sizeof(int32_t)});
  if (best_integer_isa() != IntegerIsa::avx2) return plain;
  constexpr int64_t kOfEntry = kEight * kGroup + int64_t{sizeof(int32_t)};
  return plain + whole_lines(kColumns / kEight * int64_t{sizeof(int32_t)} + groups * kOfEntry);
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
  const bool may_be_moved = best_integer_isa() == IntegerIsa::avx2;
  const MovedWeights moved = may_be_moved ? moved_weights(const_cast<std::byte*>(panel), padded) : MovedWeights{};
  const bool is_moved = may_be_moved && moved.ends[kEights - 1] >= 0;
  if (isa == IntegerIsa::avx2) {
    return is_moved ? multiply_bytes(rows, padded, a, b, moved, columns, c) : multiply_wide(rows, padded, a, b, columns, c);
  }
#endif
  multiply_generic(rows, padded, a, b, columns, c);
#ifdef RELAYOUT_X86
  if (is_moved) add_moved(rows, padded, a, moved, c);
#endif
}

}  // namespace relayout::exec
