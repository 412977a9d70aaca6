#pragma once

#include <cstddef>
#include <vector>

#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/reference.h"

namespace relayout {

/// How far the rounding of their own values moves each of A's outputs over one sample, in A and in B, where that has it: by runs in which
/// constants and results move by one ULP, though not by more than one ULP of the largest number that both reach. They may sum numbers of
/// that size in different ways; a sum with larger ones in one of them is another rounding.
[[nodiscard]] std::vector<Floor> own_rounding(const Pair& pair, const Reference& reference, std::size_t sample);

}  // namespace relayout
