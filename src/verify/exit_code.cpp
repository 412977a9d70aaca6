// Exit codes of `verify A B` and `verify --data` (0, 1, unsupported nodes, defects, `--allow-inconclusive`), and the words same, different,
// inconclusive, accepted.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "relayout/error.h"
#include "relayout/verify.h"

namespace relayout {

std::string_view to_string(Outcome outcome) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"same", "different", "inconclusive", "accepted"});
  return kNames[static_cast<std::size_t>(outcome)];
}

int exit_code(const VerifyResult& result, bool allow_inconclusive) noexcept {
  if (!result.defect.empty()) return exit_code(ErrorKind::defect);
  if (result.is_blocked()) return exit_code(ErrorKind::unsupported);
  if (result.outcome == Outcome::same || result.outcome == Outcome::accepted) return 0;
  if (result.outcome == Outcome::inconclusive && allow_inconclusive) return 0;
  return 1;
}

int exit_code(const DataResult& result) noexcept {
  const bool unsupported = std::ranges::any_of(result.cases, [](const DataCase& one) { return one.status == "unsupported"; });
  if (unsupported) return exit_code(ErrorKind::unsupported);
  return result.passed() ? 0 : 1;
}

bool DataResult::passed() const {
  return !cases.empty() && std::ranges::all_of(cases, [](const DataCase& one) { return one.status == "passed"; });
}

}  // namespace relayout
