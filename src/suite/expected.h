#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// Entry for one case in a list of exceptions.
struct ExpectedCase {
  std::string status, reason;
};
using ExpectedCases = std::map<std::string, ExpectedCase>;

/// Lines "NAME STATUS REASON…" separated by blanks; empty lines and those that begin with # are skipped. Error{invalid} names a line that
/// is incomplete, has an unknown status, or repeats a name.
[[nodiscard]] ExpectedCases read_expected_cases(const std::filesystem::path& path);
[[nodiscard]] ExpectedCases parse_expected_cases(const std::string& text, const std::string& name);

/// Adds the status and reason of the list to the cases.
void apply_expected(const ExpectedCases& expected, std::vector<SuiteCase>& cases);
/// Expects the inconclusive cases that are not in the list of exceptions (`--allow-inconclusive`).
void expect_inconclusive(std::vector<SuiteCase>& cases);
/// Listed cases that are not among the names (sorted).
[[nodiscard]] std::vector<std::string> stale_cases(const ExpectedCases& expected, const std::vector<std::string>& names);

}  // namespace relayout
