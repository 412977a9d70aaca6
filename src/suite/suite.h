// Declares what the files of this room share: cases, their processes, outcomes and order, and what is kept of them.
#pragma once

// IWYU pragma: begin_exports

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/times.h"
#include "relayout/convert.h"
#include "relayout/suite.h"
#include "report/json.h"

// IWYU pragma: end_exports

namespace relayout {

/// A folder of results, each in a file named by its key. Any number of processes may share a folder, and any of them may be killed: an
/// entry appears whole or not at all, and damaged entries are ignored. The folder may be removed at any time.
class EntryCache {
 public:
  /// `facts`: what all results depend on besides their files, such as program and options. Entries of a different `schema` are ignored.
  /// Error{io} when the folder cannot be created.
  EntryCache(std::filesystem::path folder, std::string schema, const std::vector<std::string>& facts);

  /// The key of a result that depends on the facts and the contents added by `add`; nothing when an added file cannot be read.
  [[nodiscard]] std::optional<std::string> key(const std::function<void(ContentKey&)>& add) const;

  /// The entry of a key, or nothing. `key`: more than two hexadecimal digits.
  [[nodiscard]] std::optional<Json> find(const std::string& key) const;
  /// Stores an entry. A failure, as on a full disk, only causes a warning, once.
  void store(const std::string& key, const Json& entry);

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::string schema_, facts_;
  std::atomic<bool> has_warned_ = false;
};

/// Exit and output of a program.
struct ChildResult {
  int code = -1;           ///< exit code, -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  bool timed_out = false;  ///< it was killed because it took too long
  std::string out, err;    ///< its output, up to 16 MiB of each
  double seconds = 0;
};

/// Runs a program to its end with empty standard input. It is killed after `timeout` seconds, when this process is interrupted
/// (Error{interrupted}), and when this process dies. Safe from several threads. Error{io} if no process can be started; a program that
/// cannot be executed exits with 127.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command, double timeout);

/// The cases with these names, sorted, each once. In trees of stored outputs, only the named paths are read. Error{usage} for a name that
/// no case has.
[[nodiscard]] std::vector<SuiteEntry> find_cases(const SuiteTrees& trees, std::vector<std::string> names);

/// Number of cases, and a digest that identifies them.
[[nodiscard]] SuiteExtent extent_of(const std::vector<std::string>& names);

/// An original and the model that is judged against it, by their names below their trees; either may be missing.
struct ModelPairing {
  std::string original, counterpart;
  std::string fault;  ///< empty if both exist
};

/// Pairs the models of two trees (sorted names), or of one tree with both, in which a counterpart is not an original. `pattern` as in
/// SuiteTrees::pair. Error{usage} for a malformed pattern.
[[nodiscard]] std::vector<ModelPairing> pair_models(const std::vector<std::string>& originals, const std::vector<std::string>& judged,
                                                    const std::string& pattern, bool is_one_tree);

/// Entry for one case in a list of exceptions.
struct ExpectedCase {
  std::string status, reason;
};
using ExpectedCases = std::map<std::string, ExpectedCase>;

/// Lines "NAME STATUS REASON…" separated by blanks; empty lines and those that begin with # are skipped. Error{invalid} names a line that
/// is incomplete, has an unknown status, or repeats a name.
[[nodiscard]] ExpectedCases read_expected_cases(const std::filesystem::path& path);
[[nodiscard]] ExpectedCases parse_expected_cases(const std::string& text, const std::string& name);

/// Adds the status and reason of the list to the cases.
void apply_expected(const ExpectedCases& expected, std::vector<SuiteCase>& cases);
/// Expects the inconclusive cases that are not in the list of exceptions (`--allow-inconclusive`).
void expect_inconclusive(std::vector<SuiteCase>& cases);
/// Listed cases that are not among the names (sorted).
[[nodiscard]] std::vector<std::string> stale_cases(const ExpectedCases& expected, const std::vector<std::string>& names);

/// Status and message of a case, from the child that ran it within `timeout` seconds.
[[nodiscard]] SuiteCase case_of(const SuiteEntry& entry, const ChildResult& child, double timeout);
/// Whether a run with other timing, memory or disk space would have the same result.
[[nodiscard]] bool is_verdict(const SuiteCase& one, const ChildResult& child);

/// Expected microseconds of each case, at least 1; the median of the known for cases that `durations` does not know.
[[nodiscard]] std::vector<int64_t> expected_times(const std::vector<std::string>& names, const CaseDurations& durations);

/// Estimates the remaining time of a suite: the expected time of the open cases, at the pace so far.
class TimeLeft {
 public:
  TimeLeft(const std::vector<std::string>& names, const CaseDurations& durations);
  /// Notes that a case has ended.
  void add(const std::string& name);
  /// Notes a case that is done without having run, which says nothing about the pace.
  void drop(const std::string& name);
  /// nullopt until enough is done for a pace.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  int64_t take(const std::string& name);

  Stopwatch watch_;
  std::map<std::string, int64_t> times_;  ///< of cases that are not done
  double done_ = 0, left_ = 0;
};

/// Verdicts of cases, by the contents of everything that they depend on.
class CaseCache {
 public:
  /// `facts`: dependencies of verdicts besides the files: program, processor, options. Error{io} if the folder cannot be created.
  CaseCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.case-cache/3", facts) {}

  /// Digest of the facts, the case's name and the bytes of its files, data files of its models included; nullopt if one of them cannot be
  /// read, or a model cannot be loaded to find its data files.
  [[nodiscard]] std::optional<std::string> key_of(const SuiteEntry& entry) const;
  /// Result of an earlier run of the case; nullopt: none.
  [[nodiscard]] std::optional<SuiteCase> find(const std::string& key, const std::string& name) const;
  void store(const std::string& key, const SuiteCase& one) { entries_.store(key, entry_of(one)); }

 private:
  [[nodiscard]] static Json entry_of(const SuiteCase& one);

  EntryCache entries_;
};

/// Conversions that need not be repeated, by the contents of the model, the options and the program. Results are not stored, only the names
/// and digests that show that they are unchanged where they were written.
class ConversionCache {
 public:
  /// `facts` are the values besides the model on which a result depends. Error{io} when the folder cannot be created.
  ConversionCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.convert-cache/2", facts) {}

  /// Nothing when the model cannot be read. The key includes the name of the result, not its folder.
  [[nodiscard]] std::optional<std::string> key_of(const std::filesystem::path& input, const std::filesystem::path& output) const;
  /// The report of the earlier conversion, when `output` and its data files are unchanged since.
  [[nodiscard]] std::optional<Json> find(const std::string& key, const std::filesystem::path& output) const;
  void store(const std::string& key, const ConvertResult& result, const Json& report);

 private:
  EntryCache entries_;
};

[[nodiscard]] Json suite_json(const SuiteResult& result);
/// Reads a document of suite_json() from a file. Error{invalid} names the file and its error.
[[nodiscard]] SuiteResult read_suite(const std::string& path);

/// The value of an environment variable, empty when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

/// The part for a word of --shard: "I/N"; "auto", as the scheduler of this job assigns it; "auto/N" for schedulers that provide an index
/// only. Empty: the whole suite, regardless of the environment. Error{usage} when the word names no part, or when the environment has no
/// variables of a scheduler or contradicts itself.
[[nodiscard]] Shard shard_of(const std::string& word, const Environment& environment);

/// "2/4", with the environment variables that assign it.
[[nodiscard]] std::string shard_text(const Shard& shard);

/// "33 of 132 cases"; "2 cases" where the total is not known.
[[nodiscard]] std::string part_text(const SuiteResult& result);

inline constexpr const char* kEmptyShard = "this shard has no case";

}  // namespace relayout
