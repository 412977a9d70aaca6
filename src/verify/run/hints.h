#pragma once

#include <string>

#include "relayout/datum.h"

namespace relayout {

/// A change that would make two different outputs agree, or the place of their difference, in a few words; empty: none found. Absolute
/// differences up to `tolerance` do not count.
[[nodiscard]] std::string hint(const Datum& a, const Datum& b, double tolerance);

}  // namespace relayout
