// Sums by cause of the difference between two profiled models, and their sentence: "folded (proved)", parts of half a percent or more,
// times instead of percents where a part is opposite, two folded operators by name.
#include "cli/cause_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "cli/profile_report.h"
#include "cli/profile_verdict.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"

namespace relayout::cli {
namespace {

/// The contribution of a cause to a difference that the interval shows.
struct CausePart {
  Cause cause;
  double us = 0;
  int64_t percent = 0;  ///< negative: opposite to the difference
};

/// Contributions of half a percent or more, the largest first. Where some are negative, the others exceed 100 %, and reports show times.
std::vector<CausePart> parts_of(const ProfileComparison& comparison, double whole) {
  std::vector<CausePart> out;
  for (const auto& [cause, sum] : sums_of(comparison)) {
    const CausePart part{cause, sum.us, std::llround(100 * sum.us / whole)};
    if (part.percent != 0) out.push_back(part);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, [&](const CausePart& part) { return part.us / whole; });
  return out;
}

/// "52 BatchNormalizations and 3 Muls"
std::string folded_text(const ProfileComparison& comparison) {
  std::vector<std::pair<int64_t, std::string>> operators;
  for (const auto& [op, number] : comparison.folded) operators.emplace_back(-number, op);
  std::ranges::sort(operators);
  constexpr std::size_t kMostOperators = 2;
  std::string out;
  int64_t rest = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (i >= kMostOperators) rest -= operators[i].first;
    if (i < kMostOperators) out += (i > 0 ? ", " : "") + counted(-operators[i].first, operators[i].second);
  }
  return rest > 0 ? out + " and " + counted(rest, "other node") : out;
}

/// "from folding 52 BatchNormalizations", "from layout", "unexplained"
std::string part_text(const ProfileComparison& comparison, Cause cause) {
  switch (cause) {
    case Cause::folded:
      return comparison.folded.empty() ? "from folding" : "from folding " + folded_text(comparison);
    case Cause::fused:
      return "from fusion";
    case Cause::kernel:
      return "from kernels";
    case Cause::reorder:
      return "from reorders";
    case Cause::removed:
    case Cause::added:
      return "from nodes " + std::string(to_string(cause));
    case Cause::layout:
      return "from layout";
    case Cause::unexplained:
      break;
  }
  return std::string(to_string(cause));
}

}  // namespace

std::map<Cause, CauseSum> sums_of(const ProfileComparison& comparison) {
  std::map<Cause, CauseSum> out;
  for (const PairedRow& pair : comparison.rows) {
    ++out[pair.cause].rows;
    out[pair.cause].us += pair.difference_us;
  }
  return out;
}

std::string sentence_of(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  if (!comparison.is_related) {
    return comparison_answer(comparison.ratio) + ": the models have little in common, " +
           std::to_string(std::llround(100 * comparison.common)) + " % of their nodes belong together";
  }
  const bool is_shown = is_difference(judge_time(comparison.ratio)) && whole * (comparison.ratio.median - 1) > 0;
  if (!is_shown) return comparison_answer(comparison.ratio);
  const std::vector<CausePart> parts = parts_of(comparison, whole);
  const bool against = std::ranges::any_of(parts, [](const CausePart& part) { return part.percent < 0; });
  std::string out = comparison_answer(comparison.ratio);
  const char* between = ": ";
  for (const CausePart& part : parts) {
    const std::string size = against ? signed_microseconds_text(part.us) + " µs " : std::to_string(part.percent) + " % ";
    out += between + size + part_text(comparison, part.cause);
    between = ", ";
  }
  return out;
}

std::string causes_text(const ProfileComparison& comparison) {
  const double whole = comparison.b.total_us - comparison.a.total_us;
  std::string out = "difference " + signed_microseconds_text(whole) + " µs";
  const char* between = ": ";
  for (const auto& [cause, sum] : sums_of(comparison)) {
    out += between + std::string(to_string(cause)) + (cause == Cause::folded && comparison.proved ? " (proved) " : " ") +
           signed_microseconds_text(sum.us) + " in " + counted(sum.rows, "line");
    between = " · ";
  }
  return out + "\n";
}

}  // namespace relayout::cli
