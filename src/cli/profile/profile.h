// Declares what the files of this command share: chosen lines, verdicts, and the forms of its report.
#pragma once

// IWYU pragma: begin_exports
#include <map>
#include <unordered_map>

#include "cli/common/input_options.h"
#include "cli/common/report.h"
#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/profile.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// Which rows of a profile are shown, and how.
struct TableChoice {
  Grouping by = Grouping::node;
  std::size_t depth = 1;      ///< depth of scopes
  std::string sort = "time";  ///< time, order, bytes, flop
  std::size_t top = 0;        ///< maximum number of lines; 0: all
  NameChoice names;
  bool reference_columns = false;  ///< text: only the columns of PyTorch's tutorial on profiling with FX
};

/// One line of the table: a row, a group of rows, or all rows that are not shown.
struct TableLine {
  std::string name = {};
  std::vector<std::string> absorbed = {};
  std::string op = {}, kind = {}, layout = {}, implementation = {}, shape = {};
  int64_t calls = 0;
  int64_t bytes = 0, macs = 0;
  double us = 0, share = 0, cumulative = 0;
  std::optional<Estimate> measured = {};    ///< set for a single row
  std::optional<double> part_of_peak = {};  ///< share of Profile::peak, where it is known
};

/// The lines, and the rest that makes them add up to the latency.
struct ProfileTable {
  Grouping by = Grouping::node;
  std::vector<TableLine> lines;
  std::optional<TableLine> others;  ///< sum of the rows or groups that the choice excludes
  TableLine executor;
  std::optional<MachinePeak> peak;

  /// The lines, the sum of the others, and the executor.
  [[nodiscard]] std::vector<TableLine> all_lines() const;
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] ProfileTable make_table(const Profile& profile, const TableChoice& choice);

/// The same line of two profiles. A time is empty where a profile has no line of that name.
struct PairedLine {
  std::string name, op;
  std::optional<double> a_us, b_us;
  std::optional<Cause> cause;  ///< set for a single row
  [[nodiscard]] double difference() const { return b_us.value_or(0) - a_us.value_or(0); }
};

/// Lines of both profiles, the largest difference first. The sum of the lines beyond `choice.top` and the executor are last.
[[nodiscard]] std::vector<PairedLine> pair_tables(const ProfileComparison& comparison, const TableChoice& choice);

/// Reads "node", "op", "layout", "impl", "scope" or "scope:DEPTH" (DEPTH 0: whole paths).
void read_grouping(const std::string& word, TableChoice& choice);

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

/// "1.630 × faster: 61 % from folding 52 BatchNormalizations, 34 % from layout, 5 % unexplained": shares of the difference between the
/// totals. Signed times replace them where one is opposite to the difference. Where no difference is shown, only the first words.
[[nodiscard]] std::string sentence_of(const ProfileComparison& comparison);

/// Width of a terminal from which tables of profiles have more columns.
inline constexpr std::size_t kWide = 100;

/// The ends of an interval; nothing without one.
[[nodiscard]] inline std::optional<double> low_of(const Estimate& estimate) {
  return estimate.interval ? std::optional(estimate.interval->low) : std::nullopt;
}
[[nodiscard]] inline std::optional<double> high_of(const Estimate& estimate) {
  return estimate.interval ? std::optional(estimate.interval->high) : std::nullopt;
}

/// "7.41 ms", "412 µs", "1.23 s": three significant digits.
[[nodiscard]] std::string duration_text(double us);
/// "7.38 … 7.46 ms"; "–" without an interval.
[[nodiscard]] std::string interval_text(const Estimate& us);

/// Rows of a page's table; its data has all.
inline constexpr std::size_t kMostTableRows = 2000;

/// The report of a profile, which it refers to, as the others do: the table with the lines of `choice`, pages and data with those of
/// `whole`.
[[nodiscard]] Report profile_report(const Profile& profile, const TableChoice& choice, const TableChoice& whole);
/// The ratio, both profiles by operator on one scale, and the differences.
[[nodiscard]] Report comparison_report(const ProfileComparison& comparison, const TableChoice& choice,
                                       const std::optional<SlowdownGate>& gate);
[[nodiscard]] Json comparison_json(const ProfileComparison& comparison, const TableChoice& choice, const std::optional<SlowdownGate>& gate);

// Parts shared by several reports of profiles.
/// "1 thread on 2 of 2 processors, AMD EPYC …"
[[nodiscard]] std::string context_text(const ProfileContext& context, const std::string& threads = {});
/// "input [1, 3, 224, 224] at N = 1"
[[nodiscard]] std::string inputs_text(const Profile& profile);
/// "arena 6.0 MB, most in use 5.1 MB at NODE · packed weights 14.1 MB"
[[nodiscard]] std::string memory_text(const Profile& profile);
/// "load 1.2 ms · plan 3.4 ms · first run 5.6 ms"
[[nodiscard]] std::string apart_text(const Latency& latency, const char* between = " · ");
/// "113 GFLOP/s, 12.2 GB/s with 1 thread, measured", or why no peak is known.
[[nodiscard]] std::string peak_text(const Profile& profile);
/// "113", "12.2": three significant digits of 10⁹ operations or bytes per second; "–" where not known.
[[nodiscard]] std::string rate_text(const std::optional<double>& rate);
/// "1 reorder, 45.2 µs, 0.6 % · 0 packs · 3 views at no cost"
[[nodiscard]] std::string copies_text(const Profile& profile);
/// Reasons to doubt the figures, a line each.
[[nodiscard]] Table doubts_of(const Latency& latency);
/// A node's name for a line of `width` columns. In narrow lines, "…" replaces parts of the path that the next part repeats.
[[nodiscard]] std::string node_text(const std::string& name, std::size_t width);
/// "Conv + BatchNorm" of "Conv + BatchNormalization".
[[nodiscard]] std::string short_operators(const std::string& names);
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
/// What pages show of a profile besides its table, and of two.
[[nodiscard]] std::vector<Section> page_sections(const Profile& profile);
[[nodiscard]] Section operators_section(const ProfileComparison& comparison);

struct SweepSetting {
  int threads = 0;
  std::map<std::string, int64_t> dims;
};

/// All combinations of --threads and --dim; the last --dim varies fastest. Error{usage} for words that are no sizes.
[[nodiscard]] std::vector<SweepSetting> sweep_settings(const std::vector<std::string>& threads, const Assignments& dims);

/// Several profiles of one model, a line each.
[[nodiscard]] Report sweep_report(const std::vector<Profile>& profiles);

}  // namespace relayout::cli
