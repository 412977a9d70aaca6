#pragma once

#include <array>
#include <string_view>

#include "base/machine.h"

/// Figures for the costs of layout plans, one set for each instruction set: GFLOP/s of convolutions by kind, time ratios of other
/// operators, bytes per nanosecond and start time of copies. Times of one core, of which only ratios matter. Medians of each kind over the
/// convolutions of networks (relayout inspect --layout --measure --threads 1, with --when always and never), oneDNN 3.7.2. AVX-512: AMD Zen
/// 5, 14 networks, 2026-11-22. AVX2: AMD Zen 3, 44 networks, 2026-11-23. SSE4.1: the same Zen 5 with ONEDNN_MAX_CPU_ISA=SSE41. Other
/// operators are relayout's kernels, measured on the same machines; copies on the Zen 5, 11 networks, 2026-11-25. Convolutions over one
/// dim: a Xeon of 2023, 9 networks of speech and of points, 2026-11-26 (contiguous 1.28 with AVX2, 1.08 to 1.29 with AVX-512).
namespace relayout::rates {

/// A convolution's kind.
enum class Kind : uint8_t {
  first,       ///< at most kFewChannels input channels
  depthwise,   ///< one input channel per group
  grouped,     ///< several
  point,       ///< a window of one element
  other,       ///< over two dims
  volume,      ///< over three
  transposed,  ///< ConvTranspose
  line,        ///< several elements over one dim
};
inline constexpr int kFewChannels = 4;

/// GFLOP/s of a convolution in channels-last, and the ratio of its time contiguous (reorders inside included) to that; kCopied: it is
/// computed in channels-last, between copies of operand and result.
inline constexpr double kCopied = 0;
struct Convolution {
  double gigaflops, ratio;
};

/// The speeds of a class of processors.
struct Speeds {
  std::array<Convolution, 8> convolutions;  ///< by Kind
  double near_bytes;                        ///< bytes read and written per nanosecond while both fit the cache, on the machines above
};

inline constexpr Speeds kAvx512{
    {{{96, kCopied}, {85, kCopied}, {88, kCopied}, {209, 1.08}, {82, kCopied}, {69, kCopied}, {144, kCopied}, {110, kCopied}}}, 40};
/// Contiguous convolutions of one group over two dims are computed as products of unfolded windows.
inline constexpr Speeds kAvx2{{{{64, 3.1}, {26, kCopied}, {47, kCopied}, {81, 1.1}, {78, 2.0}, {58, kCopied}, {59, kCopied}, {60, 1.3}}},
                              24};
/// Those products are as fast as with AVX2, but the kernels for channels-last are not: convolutions with windows of several elements stay
/// contiguous.
inline constexpr Speeds kSse41{{{{11, 1.1}, {42, 2.4}, {10, kCopied}, {15, 1.0}, {8, 0.78}, {8, 0.8}, {15, 1.0}, {15, 1.0}}}, 40};

constexpr const Speeds& speeds_of(InstructionSet set) {
  return set == InstructionSet::avx512 ? kAvx512 : set == InstructionSet::avx2 ? kAvx2 : kSse41;
}

/// Other operators: time contiguous over time channels-last; 1 for those that are not listed.
struct Operator {
  std::string_view op_type;
  double ratio;
};
inline constexpr auto kOperators = std::to_array<Operator>({
    {"AveragePool", 3.4},
    {"Concat", 0.6},
    {"GlobalAveragePool", 2},
    {"GlobalMaxPool", 2},
    {"LRN", 0.5},
    {"LpPool", 3.4},
    {"MaxPool", 3.6},
    {"Resize", 6},
    {"Upsample", 6},
});

/// Speeds::near_bytes for parts of channels-last tensors that are made dense run by run: 81 for mixnet_s, 42 for res2net50, whose runs are
/// odd (AVX2 on the Zen 5; with AVX-512 83 and 47), 2026-11-25. The lower value is used, as on older processors.
inline constexpr double kPartBytes = 40;
/// The same rate where each element is moved to a different place, also within a convolution's implementation. One core reaches 50 (Zen 5),
/// 31 (Sapphire Rapids) or 25 (Zen 3), but two reach no more than one, since half of the data that each reads is in the other's cache. With
/// 50, mixnet_s at two threads took 1.16 of its time with 25, and 0.99 at one (Sapphire Rapids, 2026-11-26).
inline constexpr double kTurnedBytes = 25;
inline constexpr double kFarBytesPerNanosecond = 13;  ///< from memory
inline constexpr double kNearBytes = 16 << 20;        ///< bytes that fit the cache
inline constexpr double kCopyStart = 2000;            ///< nanoseconds that every copy costs

}  // namespace relayout::rates
