// Reads the list of cases that are known not to pass, and compares it with the outcome of a suite.
#include "suite/expected.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <istream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/text_file.h"
#include "relayout/error.h"
#include "relayout/suite.h"

namespace relayout {
namespace {

/// "failed, pass-loose, …": every status but "passed".
std::string listed_statuses() {
  std::string out;
  for (const std::string_view status : kCaseStatuses) {
    if (status != "passed") out.append(out.empty() ? "" : ", ").append(status);
  }
  return out;
}

}  // namespace

ExpectedCases parse_expected_cases(const std::string& text, const std::string& name) {
  ExpectedCases out;
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    const std::string place = escape(name) + ": line " + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::string case_name;
    ExpectedCase entry;
    if (!(words >> case_name) || case_name.starts_with('#')) continue;
    words >> entry.status;
    std::getline(words >> std::ws, entry.reason);
    if (entry.status == "passed" || std::ranges::find(kCaseStatuses, entry.status) == kCaseStatuses.end()) {
      fail(ErrorKind::invalid, place + quote(entry.status) + " is none of " + listed_statuses());
    }
    if (entry.reason.empty()) fail(ErrorKind::invalid, place + "no reason is given");
    if (!out.emplace(case_name, std::move(entry)).second) fail(ErrorKind::invalid, place + quote(case_name) + " is there twice");
  }
  return out;
}

ExpectedCases read_expected_cases(const std::filesystem::path& path) {
  constexpr int64_t kMaxSize = int64_t{16} << 20;
  return parse_expected_cases(read_text(*File::open(path), kMaxSize, "a list of cases"), path.string());
}

void apply_expected(const ExpectedCases& expected, std::vector<SuiteCase>& cases) {
  for (SuiteCase& one : cases) {
    const auto entry = expected.find(one.name);
    if (entry == expected.end()) continue;
    one.expected = entry->second.status;
    one.reason = entry->second.reason;
  }
}

void expect_inconclusive(std::vector<SuiteCase>& cases) {
  for (SuiteCase& one : cases) {
    if (one.expected || one.status != "inconclusive") continue;
    one.expected = one.status;
    one.reason = one.message;
  }
}

std::vector<std::string> stale_cases(const ExpectedCases& expected, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& [name, entry] : expected) {
    if (!std::ranges::binary_search(names, name)) out.push_back(name);
  }
  return out;
}

}  // namespace relayout
