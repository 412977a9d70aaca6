#pragma once

#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// The cases with these names, sorted, each once. In trees of stored outputs, only the named paths are read. Error{usage} for a name that
/// no case has.
[[nodiscard]] std::vector<SuiteEntry> find_cases(const SuiteTrees& trees, std::vector<std::string> names);

/// Number of cases, and a digest that identifies them.
[[nodiscard]] SuiteExtent extent_of(const std::vector<std::string>& names);

}  // namespace relayout
