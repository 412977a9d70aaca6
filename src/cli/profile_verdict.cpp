// The verdict on two profiled models in words ("1.630 × faster", "no difference shown", inconclusive), and that of --fail-on-slowdown and
// --strict with its exit code.
#include "cli/profile_verdict.h"

#include <optional>
#include <string>

#include "base/numbers.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"

namespace relayout::cli {
namespace {

std::string ratio_words(double value) {
  return fixed(value, 3);
}

std::string exact_percent(double part) {
  return significant(100 * part, 6) + " %";
}

std::string gate_text(const ProfileComparison& comparison, const SlowdownGate& gate) {
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate.limit);
  const std::string limit = exact_percent(gate.limit);
  switch (verdict) {
    case SlowdownVerdict::slower:
      return "slower by more than " + limit;
    case SlowdownVerdict::within:
      return "not slower by more than " + limit;
    case SlowdownVerdict::inconclusive:
      break;
  }
  return "inconclusive: the interval holds " + ratio_words(1 + gate.limit) + ", --repeat N measures more pairs";
}

}  // namespace

std::string comparison_answer(const Estimate& ratio) {
  switch (judge_time(ratio)) {
    case TimeClass::faster:
      return ratio_words(1 / ratio.median) + " × faster";
    case TimeClass::slower:
      return ratio_words(ratio.median) + " × slower";
    case TimeClass::same:
      return "no difference shown";
    case TimeClass::inconclusive:
    case TimeClass::unknown:
      break;
  }
  return "inconclusive";
}

std::string comparison_answer(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  return gate ? gate_text(comparison, *gate) : comparison_answer(comparison.ratio);
}

int exit_code(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate) {
  if (!gate) return 0;
  const SlowdownVerdict verdict = judge_slowdown(comparison.ratio, gate->limit);
  return verdict == SlowdownVerdict::slower || (gate->strict && verdict == SlowdownVerdict::inconclusive) ? 1 : 0;
}

}  // namespace relayout::cli
