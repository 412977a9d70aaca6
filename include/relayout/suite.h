#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// Which of N parts of a suite is to run; cases are dealt out in turn.
struct Shard {
  int64_t index = 1, total = 1;  ///< 1 ≤ index ≤ total
  std::string source = {};       ///< the variables that say so, for the report; empty when it was stated
};

struct SuiteOptions {
  /// A program and its first arguments; a case appends the model, "--data" and a folder. It is to print the document of
  /// `relayout verify MODEL --data DIR --json`.
  std::vector<std::string> command;
  int jobs = 1;          ///< cases at a time
  double timeout = 120;  ///< seconds a case may take
  Shard shard = {};
  bool allow_empty = false;        ///< a shard without cases is a success
  std::filesystem::path expected;  ///< list of cases that are known not to pass; empty: all must pass
  /// Called as cases end, from one thread at a time.
  std::function<void(int64_t done, int64_t total)> progress;
};

struct SuiteCase {
  std::string name;    ///< folder below the tree, "node/test_abs"
  std::string status;  ///< passed, failed, pass-loose, unsupported, crashed, timeout
  double seconds = 0;
  std::string message;
  std::optional<std::string> expected;  ///< the status that the list of exceptions gives it
  std::string reason;                   ///< and why
  /// Passed and not listed, or ended as listed.
  [[nodiscard]] bool is_as_expected() const { return expected ? status == *expected : status == "passed"; }
};

struct SuiteResult {
  std::string tree;
  Shard shard = {};
  int64_t whole = 0;               ///< cases of all shards
  bool allow_empty = false;        ///< as in the options
  std::vector<SuiteCase> cases;    ///< of this shard, by name
  std::vector<std::string> stale;  ///< listed as exceptions, but not in the tree
  double seconds = 0;
  [[nodiscard]] int64_t count(std::string_view status) const;
  [[nodiscard]] int64_t unexpected() const;
  /// Nothing was run, and that was not to be.
  [[nodiscard]] bool is_empty_shard() const { return cases.empty() && !allow_empty; }
  [[nodiscard]] bool passed() const { return unexpected() == 0 && stale.empty() && !is_empty_shard(); }
};

/// Every folder below `tree` with a model.onnx, and every model X.onnx that has X_output_0.pb beside it ("light" models), each in a
/// process of its own. Error{invalid} when there is none, or when the list of exceptions cannot be read.
[[nodiscard]] SuiteResult run_suite(const std::filesystem::path& tree, const SuiteOptions& options);

/// 0 when everything is as expected and something was run (or nothing need be), else 1.
[[nodiscard]] int exit_code(const SuiteResult& result) noexcept;

}  // namespace relayout
