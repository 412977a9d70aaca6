#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/profile.h"

namespace relayout::cli {

/// Which rows of a profile are shown, and how.
struct TableChoice {
  Grouping by = Grouping::node;
  std::size_t depth = 1;                   ///< depth of scopes
  std::string sort = "time";               ///< time, order, bytes, flop
  std::size_t top = 0;                     ///< maximum number of lines; 0: all
  std::vector<std::string> only, exclude;  ///< patterns of names
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
  double us = 0;  ///< total time: the median latency
  std::optional<MachinePeak> peak;
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

}  // namespace relayout::cli
