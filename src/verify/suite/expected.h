#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// Entry of a list of exceptions on one case.
struct ExpectedCase {
  std::string status, reason;
};
using ExpectedCases = std::map<std::string, ExpectedCase>;

/// Lines "NAME STATUS REASON…" parted by blanks; empty lines and those that begin with # are skipped. Error{invalid} names the line
/// that lacks something, names a status that there is not, or repeats a name.
[[nodiscard]] ExpectedCases read_expected_cases(const std::filesystem::path& path);
[[nodiscard]] ExpectedCases parse_expected_cases(const std::string& text, const std::string& name);

/// Puts what the list says beside what the cases came to.
void apply_expected(const ExpectedCases& expected, std::vector<SuiteCase>& cases);
/// Listed, but not among the names (sorted).
[[nodiscard]] std::vector<std::string> stale_cases(const ExpectedCases& expected, const std::vector<std::string>& names);

}  // namespace relayout
