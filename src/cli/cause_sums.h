#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "relayout/profile.h"

namespace relayout::cli {

struct CauseSum {
  int64_t rows = 0;
  double us = 0;
};

/// Sums of the differences by cause, for the causes that occur.
[[nodiscard]] std::map<Cause, CauseSum> sums_of(const ProfileComparison& comparison);
/// "difference -1,234.5 µs: folded -1,000.2 in 20 lines · unexplained …"
[[nodiscard]] std::string causes_text(const ProfileComparison& comparison);
/// "1.630 × faster: 61 % from folding 52 BatchNormalizations, 34 % from layout, 5 % unexplained": shares of the difference between the
/// totals. Signed times replace them where one is opposite to the difference. Where no difference is shown, only the first words.
[[nodiscard]] std::string sentence_of(const ProfileComparison& comparison);

}  // namespace relayout::cli
