#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/error.h"

namespace relayout {

/// Which of N parts of a suite is to run.
struct Shard {
  int64_t index = 1, total = 1;  ///< 1 ≤ index ≤ total
  std::string source = {};       ///< the variables that say so, for the report; empty when it was stated
  bool operator==(const Shard&) const = default;
};

/// Seconds of cases by name, as an earlier run took them.
using CaseDurations = std::map<std::string, double, std::less<>>;

/// The place of a suite's cases.
struct SuiteTrees {
  std::filesystem::path tree;          ///< models with stored outputs; with `against`, originals
  std::filesystem::path against = {};  ///< the models to be judged; empty: stored outputs are
  /// Leads from an original to its counterpart (model_name_of()). Empty: NAME.cl.onnx, or else the same name.
  std::string pair = {};
};

/// One case before it has run.
struct SuiteEntry {
  std::string name;             ///< folder below the tree, "node/test_abs"; of a pair the original's file below the tree
  std::filesystem::path model;  ///< of a pair the original
  std::filesystem::path data;   ///< folder of the stored outputs; empty in a pair
  std::filesystem::path other;  ///< of a pair the model to be judged
  std::string fault;            ///< why it cannot be run; empty when it can
};

/// The name that `pattern` makes of a model's: {stem} is "net" of net.onnx and of net.cl.onnx, {stem%SUFFIX} is the name without SUFFIX,
/// {name} "net.cl", {dir} the folder. Beside the model when the pattern has no slash. Error{usage} for a pattern that makes no sense.
[[nodiscard]] std::string model_name_of(const std::string& pattern, const std::filesystem::path& model);

/// All cases by name: every folder below the tree with a model.onnx, and every model X.onnx that has X_output_0.pb beside it ("light"
/// models); with `against`, every .onnx of the tree with its counterpart. A model without counterpart, one with two, and one to be judged
/// that no original leads to ("unpaired:NAME") are cases with a fault. Error{invalid} when there is none.
[[nodiscard]] std::vector<SuiteEntry> find_cases(const SuiteTrees& trees);

/// Every .onnx below a folder by its name there, sorted; without those below `except`. Error{io} for a folder that cannot be read.
[[nodiscard]] std::vector<std::string> find_models(const std::filesystem::path& tree, const std::filesystem::path& except = {});

/// Indices of the names (sorted, without repetition) that belong to one part, in the order in which they are to start. Without durations
/// they are dealt out in turn. With them the longest goes first, each to the part that has least so far; unknown ones count as the median
/// of the known. Depends on nothing but the arguments: every machine and locale deals alike.
[[nodiscard]] std::vector<std::size_t> deal(const std::vector<std::string>& names, const Shard& shard, const CaseDurations& durations);

/// The names of one part's cases, sorted: of all cases, or of `only` these.
[[nodiscard]] std::vector<std::string> case_names(const SuiteTrees& trees, const std::optional<std::vector<std::string>>& only,
                                                  const Shard& shard, const CaseDurations& durations);

/// How far a suite has come.
struct SuiteProgress {
  int64_t done = 0, total = 0;
  std::optional<double> seconds_left;  ///< once enough has run for an estimate
};

struct SuiteCase {
  std::string name;
  std::string status;  ///< passed, failed, pass-loose, inconclusive, unsupported, crashed, timeout
  double seconds = 0;
  std::string message;
  std::optional<std::string> expected;  ///< the status that the list of exceptions gives it
  std::string reason;                   ///< and why
  std::string source = {};              ///< "cache" when the verdict was known; empty when the case was run
  std::string file = {};                ///< the model that was judged; empty where it is not known
  std::string hint = {};                ///< what to do about an error; may be empty
  /// Passed and not listed, or ended as listed.
  [[nodiscard]] bool is_as_expected() const { return expected ? status == *expected : status == "passed"; }
};

struct SuiteResult;

struct SuiteOptions {
  /// A program and its first arguments; a case appends MODEL "--data" FOLDER, or A B of a pair. It is to print the document of `relayout
  /// verify … --json`.
  std::vector<std::string> command;
  std::vector<std::string> options = {};  ///< those of `command` that the answer depends on, for the report
  int jobs = 1;                           ///< cases at a time
  double timeout = 120;                   ///< seconds a case may take
  Shard shard = {};
  /// Only these cases, in parts by `shard`; the rest of the tree is not looked at where that can be avoided. Error{usage} names one that is
  /// not there.
  std::optional<std::vector<std::string>> only = {};
  CaseDurations durations = {};
  bool allow_empty = false;             ///< a shard without cases is a success
  bool allow_inconclusive = false;      ///< of pairs: nothing could be tested, and that is no failure
  std::filesystem::path expected = {};  ///< list of cases that are known not to pass; empty: all must pass
  /// Folder of verdicts by the contents of the cases' files; empty: every case is run. Processes may share it.
  std::filesystem::path cache = {};
  std::vector<std::string> cache_facts = {};  ///< what verdicts depend on besides files and `options`: program, processor
  /// A report of the same run that a signal ended: its cases are not run again. Error{invalid} when it is of another.
  const SuiteResult* resume = nullptr;
  /// Called as cases end, from one thread at a time.
  std::function<void(const SuiteProgress&)> progress = {};
};

/// All cases of a suite: two of equal names are told apart from two that differ.
struct SuiteExtent {
  int64_t cases = 0;   ///< 0: not known, because only some were looked for
  std::string digest;  ///< SHA-256 of the sorted names, each with a NUL behind it
};

struct SuiteResult {
  std::string tree, against, pair;
  std::string version;               ///< of the program
  std::vector<std::string> options;  ///< as in SuiteOptions
  Shard shard = {};
  SuiteExtent whole = {};
  int64_t planned = 0;             ///< cases that this run was to run
  bool allow_empty = false;        ///< as in the options
  std::vector<SuiteCase> cases;    ///< that have run, by name
  std::vector<std::string> stale;  ///< listed as exceptions, but not in the tree
  /// A signal ended it (interrupted or terminated); `cases` has what was done until then.
  std::optional<ErrorKind> interruption = {};
  double seconds = 0;
  [[nodiscard]] int64_t count(std::string_view status) const;
  [[nodiscard]] int64_t unexpected() const;
  /// Nothing was run, and that was not to be.
  [[nodiscard]] bool is_empty_shard() const { return planned == 0 && !allow_empty; }
  [[nodiscard]] bool passed() const { return unexpected() == 0 && stale.empty() && !is_empty_shard() && !interruption; }
};

/// Runs the cases, each in a process of its own. Error{invalid} when there is none, or when the list of exceptions cannot be read.
[[nodiscard]] SuiteResult run_suite(const SuiteTrees& trees, const SuiteOptions& options);

/// A report of a part, with the name that errors call it by.
struct SuitePart {
  std::string name;
  SuiteResult result;
};

struct MergeOptions {
  /// The cases that there must be. Without it they are those of the suite, which reports of shards know; reports of cases run by name do
  /// not.
  std::optional<std::vector<std::string>> names = {};
  bool allow_missing = false;           ///< the result is then that of a part
  std::filesystem::path expected = {};  ///< list of cases that are known not to pass, in place of what the parts say of it
};

/// Parts of a suite as one run over everything would have reported them; its time is the sum of theirs. Error{invalid} for missing cases,
/// cases that are there twice, and parts of different programs, options or suites.
[[nodiscard]] SuiteResult merge_suites(std::vector<SuitePart> parts, const MergeOptions& options = {});

/// 0 when everything is as expected and something was run (or nothing need be), 130 or 143 after a signal, else 1.
[[nodiscard]] int exit_code(const SuiteResult& result) noexcept;

}  // namespace relayout
