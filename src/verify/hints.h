#pragma once

#include <string>

#include "relayout/datum.h"

namespace relayout {

/// What would make two different outputs agree, or where they differ, in a few words; empty when nothing is seen. `tolerance` is the
/// absolute difference that counts as none.
[[nodiscard]] std::string hint(const Datum& a, const Datum& b, double tolerance);

}  // namespace relayout
