#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout::cli {

class OptionSet;
class Progress;

/// Which cases of which trees, as words.
struct CaseWords {
  std::string tree, against, pair, shard, from, durations;
  std::vector<std::string> names;
  bool list = false, null = false;
};

/// `verify --suite TREE`.
struct SuiteRequest {
  CaseWords cases;
  std::string expected, resume, cache;
  int64_t jobs = 0;  ///< 0: as many as there are CPUs
  std::optional<double> timeout;
  bool allow_empty = false, allow_inconclusive = false;
};

/// --list, --null, --case, --cases-from, --shard and --durations.
void declare_case_choice(OptionSet& options, CaseWords& words);
void declare_suite_options(OptionSet& options, SuiteRequest& request);
/// --case and --cases-from, as names; nothing when neither is given.
[[nodiscard]] std::optional<std::vector<std::string>> selected_cases(const CaseWords& words);
/// The part of these names that the words choose, sorted. Error{usage} for a name that is not among them.
[[nodiscard]] std::vector<std::string> chosen_part(const std::vector<std::string>& names, const CaseWords& words);
/// Runs the tree, each case by this very program with `options` (--mode, --rtol …).
[[nodiscard]] SuiteResult run_suite(const SuiteRequest& request, const std::vector<std::string>& options, Progress& progress);
/// --list: the names, a line each, or with --null a NUL behind each.
void print_names(const std::vector<std::string>& names, const CaseWords& words, bool json);
void list_cases(const CaseWords& words, bool json);

}  // namespace relayout::cli
