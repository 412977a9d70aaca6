#pragma once

#include <cstdint>

/// Figures that lowering decides by: rates of kinds of steps, 12 µs up to which a step stays on one thread, limits of oneDNN's copies (16
/// KiB, 4 channels), of windows and of short lines. The time of a step on one thread is an estimate that is only compared with
/// kTeamNanoseconds, so only its order of magnitude counts. Rates are those of a slow kind on an AVX2 core (src/layout/rates.h has them by
/// kind), confirmed on AMD Zen 5 with oneDNN 3.7.2, 2026-11-22.
namespace relayout::step_rates {

/// Steps that take less on one thread stay there. Calling a thread that looks for work costs 1 µs, a sleeping one 5 to 20. Time with two
/// threads over the time with one, for limits of 25 and 12 µs: mobilenetv4_conv_small_050 0.72, 0.58; repghostnet_050 0.84, 0.71;
/// mobilenet_v3_small 0.67, 0.61. With another process alongside it is at most 1.02 at 12 µs (Zen 5, 2026-11-25).
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

/// Copies of fewer bytes use relayout's kernel: the library's reorder takes longer to start than they take in all.
inline constexpr double kLibraryCopyBytes = 16384;
/// So do copies of images of at most this many channels, which the library's reorder copies element by element.
inline constexpr int64_t kFewCopyChannels = 4;
/// Elements under a window of one channel up to which a convolution is a product of strided views: beyond, the library is faster.
inline constexpr int64_t kShallowWindow = 32;
/// Reductions over shorter lines are left to the op table's kernel, which takes several lines side by side.
inline constexpr int64_t kShortLine = 16;

}  // namespace relayout::step_rates
