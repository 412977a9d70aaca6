#pragma once

#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// The cases of these names, by name, each once. Trees of stored outputs are only looked at where the names lead. Error{usage} for a name
/// that no case has.
[[nodiscard]] std::vector<SuiteEntry> find_cases(const SuiteTrees& trees, std::vector<std::string> names);

/// How many cases there are, and what tells them from others.
[[nodiscard]] SuiteExtent extent_of(const std::vector<std::string>& names);

}  // namespace relayout
