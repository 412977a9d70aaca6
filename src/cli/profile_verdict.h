#pragma once

#include <optional>
#include <string>

#include "relayout/profile.h"

namespace relayout::cli {

/// The limit of a slowdown.
struct SlowdownGate {
  double limit = 0;     ///< 0.05: five percent
  bool strict = false;  ///< an inconclusive result fails too
};
/// 1 when b is slower by more than the limit, or under `strict` may be; else 0.
[[nodiscard]] int exit_code(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate);
/// "1.630 × faster", "no difference shown", "inconclusive"; with a gate, its verdict.
[[nodiscard]] std::string comparison_answer(const ProfileComparison& comparison, const std::optional<SlowdownGate>& gate);
/// The same without a gate.
[[nodiscard]] std::string comparison_answer(const Estimate& ratio);

}  // namespace relayout::cli
