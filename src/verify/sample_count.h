#pragma once

#include <cstddef>

#include "relayout/verify.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {
namespace rules {

/// Number of samples if something is unexplained; and if the proof is complete, except perhaps for constants changed by rounding.
inline constexpr int kSamples = 4, kSamplesOfProved = 1;
/// Most samples that are run so that all numbers at which a model decides are among the inputs.
inline constexpr int kMostSamples = 12;
/// Samples over which nodes are compared one by one: one of usual values, one of far-reaching values. Others are not run if the proof is
/// complete except for constants that nearly agree.
inline constexpr int kLayerSamples = 2;
/// Constants that differ by no more than this, relatively, nearly agree: fewer samples are run.
inline constexpr double kNearConstant = 1e-4;

}  // namespace rules

/// Number of samples to begin with: without --samples, all files of a folder, if one is given. Error{usage} for more than these.
[[nodiscard]] int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result);

/// Number of samples for optimized execution: if all have the same sizes, the first suffices, as it shows the plan.
[[nodiscard]] std::size_t samples_of_optimized(const Reference& reference);

}  // namespace relayout
