#pragma once

#include <array>
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

/// One of N parts of a suite.
struct Shard {
  int64_t index = 1, total = 1;  ///< 1 ≤ index ≤ total
  std::string source = {};       ///< for the report: environment variables that set it; empty when given explicitly
  bool operator==(const Shard&) const = default;
};

/// Durations of cases in an earlier run, in seconds, by name.
using CaseDurations = std::map<std::string, double, std::less<>>;

/// The folders of a suite's cases.
struct SuiteTrees {
  std::filesystem::path tree;          ///< models with stored outputs; with `against`, originals
  std::filesystem::path against = {};  ///< folder of the models to be judged; empty: models are compared with stored outputs
  /// Pattern of the counterpart's name (see model_name_of()). Empty: NAME.cl.onnx, or else the same name.
  std::string pair = {};
};

/// One case before it is run.
struct SuiteEntry {
  std::string name;             ///< folder relative to the tree, "node/test_abs"; for a pair the original's file relative to the tree
  std::filesystem::path model;  ///< the model; for a pair the original
  std::filesystem::path data;   ///< folder of the stored outputs; empty for a pair
  std::filesystem::path other;  ///< for a pair the model to be judged
  std::string fault;            ///< why the case cannot be run; empty if it can
  /// The model that is judged, to which reports attach the case: `other` of a pair, else `model`.
  [[nodiscard]] const std::filesystem::path& judged() const;
};

/// Expands `pattern` for a model: {stem} is "net" for net.onnx and net.cl.onnx, {stem%SUFFIX} the stem without SUFFIX, {name} "net.cl", and
/// {dir} the folder. Without a slash in the pattern, the result is in the folder of the model. Error{usage} for an invalid pattern.
[[nodiscard]] std::string model_name_of(const std::string& pattern, const std::filesystem::path& model);

/// All cases, sorted by name: every folder below the tree with a model.onnx, and every model X.onnx next to an X_output_0.pb ("light"
/// models); with `against`, every .onnx of the tree with its counterpart. An original without a counterpart or with two, and a model to be
/// judged without an original ("unpaired:NAME"), are cases with a fault. Error{invalid} when there are no cases.
[[nodiscard]] std::vector<SuiteEntry> find_cases(const SuiteTrees& trees);

/// Paths of all .onnx files below a folder, relative to it and sorted, without those below `except`. Error{io} for a folder that cannot be
/// read.
[[nodiscard]] std::vector<std::string> find_models(const std::filesystem::path& tree, const std::filesystem::path& except = {});

/// Indices of the names that belong to one part, in the order in which to start them. `names` must be sorted and unique. Without durations,
/// names are dealt round-robin. With durations, each name, longest first, is assigned to the part with the least total so far; an unknown
/// duration counts as the median of the known ones. Depends only on the arguments: every machine and locale gives the same result.
[[nodiscard]] std::vector<std::size_t> deal(const std::vector<std::string>& names, const Shard& shard, const CaseDurations& durations);

/// The sorted names of the cases in one part: of all cases, or of those in `only`.
[[nodiscard]] std::vector<std::string> case_names(const SuiteTrees& trees, const std::optional<std::vector<std::string>>& only,
                                                  const Shard& shard, const CaseDurations& durations);

/// Progress of a suite.
struct SuiteProgress {
  int64_t done = 0, total = 0;
  std::optional<double> seconds_left;  ///< estimate; none until enough cases have run
};

/// The statuses with which a case may end.
inline constexpr std::array<std::string_view, 7> kCaseStatuses = {"passed",      "failed",  "pass-loose", "inconclusive",
                                                                  "unsupported", "crashed", "timeout"};

struct SuiteCase {
  std::string name;
  std::string status;  ///< one of kCaseStatuses
  double seconds = 0;
  std::string message;
  std::optional<std::string> expected;  ///< the status in the list of exceptions
  std::string reason;                   ///< the reason in that list
  std::string source = {};              ///< "cache" when the verdict is from the cache; empty when the case was run
  std::string file = {};                ///< the judged model; empty when not known
  std::string hint = {};                ///< suggestion after an error; may be empty
  bool allowed = false;                 ///< inconclusive by doubts that the options of the case allow
  /// Whether it passed, or is allowed, and is not listed as an exception, or has the listed status.
  [[nodiscard]] bool is_as_expected() const;
};

struct SuiteResult;

struct SuiteOptions {
  /// A program and its first arguments. MODEL "--data" FOLDER, or A B for a pair, is appended for each case. The program must print the
  /// document of `relayout verify … --json`.
  std::vector<std::string> command;
  std::vector<std::string> options = {};  ///< options in `command` that affect verdicts, for the report
  int jobs = 1;                           ///< number of cases run concurrently
  double timeout = 120;                   ///< time limit per case in seconds
  Shard shard = {};
  /// Run only these cases, divided by `shard`. The rest of the tree is not read where that can be avoided. Error{usage} names a case that
  /// does not exist.
  std::optional<std::vector<std::string>> only = {};
  CaseDurations durations = {};
  bool allow_empty = false;         ///< treat a shard without cases as a success
  bool allow_inconclusive = false;  ///< for pairs: do not count inconclusive verdicts as failures
  /// List of exceptions: cases known not to pass; empty: all must pass.
  std::filesystem::path expected = {};
  /// Folder of cached verdicts, keyed by the contents of the cases' files; empty: run every case. Processes may share it.
  std::filesystem::path cache = {};
  std::vector<std::string> cache_facts = {};  ///< other facts that verdicts depend on, besides files and `options`: program, processor
  /// The report of the same run from before a signal interrupted it, or nullptr: its cases are not run again. Error{invalid} for the report
  /// of a different run. Not owned.
  const SuiteResult* resume = nullptr;
  /// Called as cases finish, by one thread at a time.
  std::function<void(const SuiteProgress&)> progress = {};
};

/// Number and digest of all cases of a suite, to tell suites with different cases apart.
struct SuiteExtent {
  int64_t cases = 0;   ///< 0: not known, because only some cases were searched for
  std::string digest;  ///< SHA-256 of the sorted names, each followed by NUL
};

struct SuiteResult {
  std::string tree, against, pair;
  std::string version;               ///< of the program
  std::vector<std::string> options;  ///< as in SuiteOptions
  Shard shard = {};
  SuiteExtent whole = {};
  int64_t planned = 0;             ///< number of cases that this run was to run
  bool allow_empty = false;        ///< as in the options
  std::vector<SuiteCase> cases;    ///< completed cases, sorted by name
  std::vector<std::string> stale;  ///< names listed as exceptions but not in the tree
  /// Set when a signal ended the run (interrupted or terminated); `cases` then has the cases completed by that time.
  std::optional<ErrorKind> interruption = {};
  double seconds = 0;
  [[nodiscard]] int64_t count(std::string_view status) const;
  [[nodiscard]] int64_t unexpected() const;
  /// Whether there was nothing to run and this is not allowed.
  [[nodiscard]] bool is_empty_shard() const;
  /// Whether these are not all cases of the suite, or the number of all is not known.
  [[nodiscard]] bool is_partial() const;
  [[nodiscard]] bool passed() const;
};

/// Runs the cases, each in a separate process. Error{invalid} when there are no cases or the list of exceptions cannot be read.
[[nodiscard]] SuiteResult run_suite(const SuiteTrees& trees, const SuiteOptions& options);

/// The report of one part, with its name for error messages.
struct SuitePart {
  std::string name;
  SuiteResult result;
};

struct MergeOptions {
  /// Names of the required cases. Default: all cases of the suite, which are known from reports of shards but not from reports of cases run
  /// by name.
  std::optional<std::vector<std::string>> names = {};
  bool allow_missing = false;           ///< allow missing cases: the result is then that of a part
  std::filesystem::path expected = {};  ///< list of exceptions that replaces those of the parts
};

/// Merges parts of a suite into the report of a single run of all cases; the durations are added. Error{invalid} for missing or duplicate
/// cases, and parts of different programs, options or suites.
[[nodiscard]] SuiteResult merge_suites(std::vector<SuitePart> parts, const MergeOptions& options = {});

/// 130 or 143 after a signal, 0 when everything is as expected and something was run (or nothing need be), else 1.
[[nodiscard]] int exit_code(const SuiteResult& result) noexcept;

}  // namespace relayout
