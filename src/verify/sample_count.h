#pragma once

#include <cstddef>

#include "relayout/verify.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Number of samples to begin with: without --samples, all files of a folder, if one is given. Error{usage} for more than these.
[[nodiscard]] int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result);

/// Number of samples for optimized execution: if all have the same sizes, the first suffices, as it shows the plan.
[[nodiscard]] std::size_t samples_of_optimized(const Reference& reference);

}  // namespace relayout
