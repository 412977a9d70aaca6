#pragma once

#include <cstdint>
#include <vector>

#include "relayout/datum.h"

namespace relayout {

/// Share of finite elements that equal the smallest or largest value; 0 for fewer than three.
[[nodiscard]] double saturated_share(const Datum& datum);
/// A hash for each slice along axis 0 (at most 64) of every tensor. Equal hashes in two samples mean that the output does not depend on the
/// difference between them.
[[nodiscard]] std::vector<uint64_t> slice_hashes(const Datum& datum);

}  // namespace relayout
