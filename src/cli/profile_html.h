#pragma once

#include <optional>
#include <string>

#include "cli/profile_lines.h"
#include "cli/profile_report.h"
#include "relayout/profile.h"

namespace relayout::cli {

/// A profile as a page: latency, pictures of time by operator and by scope, and a table of all rows.
[[nodiscard]] std::string profile_html(const Profile& profile, const TableChoice& choice);
/// A comparison as a page: the ratio, both profiles by operator on one scale, and the differences.
[[nodiscard]] std::string comparison_html(const ProfileComparison& comparison, const TableChoice& choice,
                                          const std::optional<SlowdownGate>& gate);

}  // namespace relayout::cli
