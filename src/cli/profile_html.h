#pragma once

#include <optional>
#include <string>

#include "cli/profile_lines.h"
#include "cli/profile_report.h"
#include "relayout/profile.h"

namespace relayout::cli {

/// A profile as a page: latency, time by operator and by scope as pictures, the table of all rows.
[[nodiscard]] std::string profile_html(const Profile& profile, const TableChoice& choice);
/// Two of them: the ratio, both by operator on one scale, what differs.
[[nodiscard]] std::string comparison_html(const ProfileComparison& comparison, const TableChoice& choice,
                                          const std::optional<SlowdownGate>& gate);

}  // namespace relayout::cli
