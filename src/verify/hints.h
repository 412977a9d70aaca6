#pragma once

#include <string>

#include "relayout/datum.h"

namespace relayout {

/// A change that would make two different outputs agree, or the place of their difference, in a few words; empty when nothing is seen.
/// `tolerance` is the absolute difference that counts as none.
[[nodiscard]] std::string hint(const Datum& a, const Datum& b, double tolerance);

}  // namespace relayout
