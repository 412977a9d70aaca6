#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "relayout/profile.h"

namespace relayout {

/// Rows of both by the names of their nodes, with the cause of each difference. `removed`: nodes of the first model that are gone without
/// anything that accounts for them.
[[nodiscard]] std::vector<PairedRow> pair_rows(const Profile& a, const Profile& b, const std::unordered_set<std::string>& removed);

}  // namespace relayout
