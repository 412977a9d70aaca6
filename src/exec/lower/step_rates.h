#pragma once

/// Rates of steps on one thread by kind: multiply-adds, bytes, elements per nanosecond. Lowering estimates the time of a step by them,
/// which step_writer.cpp only compares with 12 µs, so only its order of magnitude counts. Rates are those of a slow kind on an AVX2 core
/// (src/layout/rates.h has them by kind), confirmed on AMD Zen 5 with oneDNN 3.7.2, 2026-11-22.
namespace relayout::step_rates {

inline constexpr double kMacsPerNanosecond = 40;           ///< f32 convolutions and products (31 to 105 with AVX2)
inline constexpr double kDepthwiseMacsPerNanosecond = 13;  ///< of one channel per group (13 with AVX2, 12 to 48 with AVX-512)
inline constexpr double kIntegerMacsPerNanosecond = 100;   ///< 8-bit ones
inline constexpr double kRecurrentMacsPerNanosecond = 10;  ///< products of one step of a recurrence, read from memory
inline constexpr double kStreamedBytesPerNanosecond = 10;  ///< tensors read or written from one end to the other
inline constexpr double kTapsPerNanosecond = 8;            ///< of pools
inline constexpr double kSummedPerNanosecond = 4;          ///< elements of reductions
inline constexpr double kMovedPerNanosecond = 2;           ///< elements that move one by one
inline constexpr double kExponentialsPerNanosecond = 1;    ///< and other functions, statistics included

}  // namespace relayout::step_rates
