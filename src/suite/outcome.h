#pragma once

#include <string>

#include "relayout/suite.h"
#include "report/json.h"

namespace relayout {

[[nodiscard]] Json suite_json(const SuiteResult& result);
/// Reads a document of suite_json() from a file. Error{invalid} names the file and its error.
[[nodiscard]] SuiteResult read_suite(const std::string& path);

}  // namespace relayout
