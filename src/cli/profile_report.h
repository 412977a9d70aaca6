#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/profile_lines.h"
#include "cli/profile_verdict.h"
#include "cli/report.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout::cli {

/// Width of a terminal from which tables of profiles have more columns.
inline constexpr std::size_t kWide = 100;

/// "7.41 ms", "412 µs", "1.23 s": three significant digits.
[[nodiscard]] std::string duration_text(double us);
/// "7.38 … 7.46 ms"; "–" without an interval.
[[nodiscard]] std::string interval_text(const Estimate& us);

[[nodiscard]] std::string profile_text(const Profile& profile, const ProfileTable& table, const ReportStyle& style);
/// The latency alone.
[[nodiscard]] std::string latency_line(const Profile& profile);
/// The table of PyTorch's tutorial on profiling with FX, with the same columns and format.
[[nodiscard]] std::string reference_columns(const ProfileTable& table);

[[nodiscard]] std::string comparison_text(const ProfileComparison& comparison, const TableChoice& choice,
                                          const std::optional<SlowdownGate>& gate, const ReportStyle& style);
[[nodiscard]] Json comparison_json(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate);

// Parts shared by several reports of profiles.
/// "1 thread on 2 of 2 processors, AMD EPYC …"
[[nodiscard]] std::string context_text(const ProfileContext& context, const std::string& threads = {});
/// "input [1, 3, 224, 224] at N = 1"
[[nodiscard]] std::string inputs_text(const Profile& profile);
/// "arena 6.0 MB, most in use 5.1 MB at NODE · packed weights 14.1 MB"
[[nodiscard]] std::string memory_text(const Profile& profile);
/// "113 GFLOP/s, 12.2 GB/s with 1 thread, measured", or why no peak is known.
[[nodiscard]] std::string peak_text(const Profile& profile);
/// "113", "12.2": three significant digits of 10⁹ operations or bytes per second; "–" where not known.
[[nodiscard]] std::string rate_text(const std::optional<double>& rate);
/// "1 reorder, 45.2 µs, 0.6 % · 0 packs · 3 views at no cost"
[[nodiscard]] std::string copies_text(const Profile& profile);
/// "B takes 0.613 × (0.605 … 0.621 at 95 %) the time of A · 100 pairs in 10 rounds, wall time"
[[nodiscard]] std::string comparison_basis(const ProfileComparison& comparison);
/// Reasons to doubt the figures, a line each.
[[nodiscard]] std::string doubts_text(const Latency& latency, const ReportStyle& style);
/// A node's name for a line of `width` columns. In narrow lines, "…" replaces parts of the path that the next part repeats.
[[nodiscard]] std::string node_text(const std::string& name, std::size_t width);
/// "Conv + BatchNorm + Clip", in the space for it in a line of `width` columns (0: any).
[[nodiscard]] std::string operator_text(const std::string& op, std::size_t width);
/// "1,234.5"
[[nodiscard]] std::string microseconds_text(double us);
/// "+1,234.5"
[[nodiscard]] std::string signed_microseconds_text(double us);

[[nodiscard]] Json profile_json(const Profile& profile, const ProfileTable& table);
/// A profile without groups.
[[nodiscard]] Json profile_object(const Profile& profile);
/// A line per row of the table, with units in the header (RFC 4180).
[[nodiscard]] std::string profile_csv(const ProfileTable& table);
/// The Markdown of step summaries and merge requests.
[[nodiscard]] std::string profile_markdown(const Profile& profile, const ProfileTable& table);

}  // namespace relayout::cli
