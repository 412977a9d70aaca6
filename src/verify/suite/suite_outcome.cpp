// The outcome of a suite: cases as expected or not, an empty shard (`--allow-empty`), exceptions that are not there, partial results,
// interruption, and the exit code.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "relayout/error.h"
#include "relayout/suite.h"

namespace relayout {

bool SuiteCase::is_as_expected() const {
  return expected ? status == *expected : status == "passed";
}

int64_t SuiteResult::count(std::string_view status) const {
  return std::ranges::count(cases, status, &SuiteCase::status);
}

int64_t SuiteResult::unexpected() const {
  return std::ranges::count_if(cases, [](const SuiteCase& one) { return !one.is_as_expected(); });
}

bool SuiteResult::is_empty_shard() const {
  return planned == 0 && !allow_empty;
}

bool SuiteResult::is_partial() const {
  return planned != whole.cases;
}

bool SuiteResult::passed() const {
  return unexpected() == 0 && stale.empty() && !is_empty_shard() && !interruption;
}

int exit_code(const SuiteResult& result) noexcept {
  if (result.interruption) return exit_code(*result.interruption);
  return result.passed() ? 0 : 1;
}

}  // namespace relayout
