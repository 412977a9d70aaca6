#pragma once

// IWYU pragma: begin_exports
#include <filesystem>

#include "cli/common/report.h"
#include "relayout/suite.h"
#include "suite/suite.h"
// IWYU pragma: end_exports

namespace relayout::cli {

class OptionSet;
class Progress;

/// The trees of a suite and the choice of their cases, as words.
struct CaseWords {
  std::string tree, against, pair, shard, from, durations;
  std::vector<std::string> names;
  bool list = false, null = false;
};

/// `verify --suite TREE`.
struct SuiteRequest {
  CaseWords cases;
  std::string expected, resume, cache;
  int64_t jobs = 0;  ///< 0: one per CPU of this process
  std::optional<double> timeout;
  bool allow_empty = false, allow_inconclusive = false;
};

/// The forms of a command that are about trees, and what it does with them.
struct SuiteForms {
  Forms trees = 0;   ///< all about trees
  Forms pairs = 0;   ///< those with a second tree
  Forms list = 0;    ///< the names are listed
  Forms judges = 0;  ///< cases are judged
};

/// Declares --list, --null, --case, --cases-from, --shard and --durations.
void declare_case_choice(OptionSet& options, CaseWords& words, const SuiteForms& forms);
void declare_suite_options(OptionSet& options, SuiteRequest& request, const SuiteForms& forms);
/// The part of `names` that the words select, sorted. Error{usage} for a selected name that is not among them.
[[nodiscard]] std::vector<std::string> chosen_part(const std::vector<std::string>& names, const CaseWords& words);
/// Runs the suite, with a process of this program for each case, given `options` (--mode, --rtol …).
[[nodiscard]] SuiteResult run_suite(const SuiteRequest& request, const std::vector<std::string>& options, Progress& progress);
/// --list: prints the names, a line each, or with --null each followed by a NUL.
void print_names(const std::vector<std::string>& names, const CaseWords& words, bool json);
void list_cases(const CaseWords& words, bool json);

/// The report of a result, which must outlive it.
[[nodiscard]] Report suite_report(const SuiteResult& result);

}  // namespace relayout::cli
