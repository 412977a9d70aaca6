#pragma once

#include <cstdint>

/// Numbers that lowering decides by. What a step takes on one thread is an estimate that is only held against kTeamNanoseconds, so that its
/// order of magnitude counts: rates are those of a slow kind on an AVX2 core (src/layout/rates.h has them by kind), seen again on AMD
/// Zen 5 with oneDNN 3.7.2, 2026-11-22.
namespace relayout::step_rates {

/// Steps that take less on one thread stay there. Calling a thread that looks for work costs 1 µs, a sleeping one 5 to 20. Two threads over
/// one at 25 and at 12 µs: mobilenetv4_conv_small_050 0.72, 0.58, repghostnet_050 0.84, 0.71, mobilenet_v3_small 0.67, 0.61; with another
/// process beside at most 1.02 at 12 µs (Zen 5, 2026-11-25).
inline constexpr double kTeamNanoseconds = 12'000;

inline constexpr double kMacsPerNanosecond = 40;           ///< f32 convolutions and products (31 to 105 with AVX2)
inline constexpr double kDepthwiseMacsPerNanosecond = 13;  ///< of one channel per group (13 with AVX2, 12 to 48 with AVX-512)
inline constexpr double kIntegerMacsPerNanosecond = 100;   ///< 8-bit ones
inline constexpr double kRecurrentMacsPerNanosecond = 10;  ///< products of one step of a recurrence, read from memory
inline constexpr double kStreamedBytesPerNanosecond = 10;  ///< tensors read or written from one end to the other
inline constexpr double kTapsPerNanosecond = 8;            ///< of pools
inline constexpr double kSummedPerNanosecond = 4;          ///< elements of reductions
inline constexpr double kMovedPerNanosecond = 2;           ///< elements that move one by one
inline constexpr double kExponentialsPerNanosecond = 1;    ///< and other functions, statistics included

/// Copies of fewer bytes are own kernels: the library's reorder takes longer to start than they to end.
inline constexpr double kLibraryCopyBytes = 16384;
/// So are copies of images of so few channels, which the library's reorder does element by element.
inline constexpr int64_t kFewCopyChannels = 4;
/// Elements under a window of one channel up to which a convolution is a product of strided views: beyond, the library's kernels win.
inline constexpr int64_t kShallowWindow = 32;
/// Reductions over shorter lines are the operator's own kernel, which takes several lines side by side.
inline constexpr int64_t kShortLine = 16;

}  // namespace relayout::step_rates
