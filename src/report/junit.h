#pragma once

#include <string>
#include <utility>
#include <vector>

namespace relayout {

/// One case of a JUnit report.
struct JunitCase {
  enum class Status {
    passed,
    failed,   ///< the case failed
    error,    ///< the case could not be run
    skipped,  ///< nothing was tested, and that is allowed
  };
  std::string class_name;  ///< shown by GitLab as the suite
  std::string name;        ///< made unique in its class, as GitLab drops all but the first of equal names
  std::string file = {};   ///< the file that annotations refer to
  double seconds = 0;
  Status status = Status::passed;
  std::string message = {};  ///< one line; also the first line of the text, because some readers show only that
  std::string details = {};  ///< further lines; message and details are cut at 8 KiB
};

struct JunitSuite {
  std::string command, arguments;                               ///< "verify", "a.onnx b.onnx"
  std::string timestamp;                                        ///< ISO 8601; omitted when empty
  std::vector<std::pair<std::string, std::string>> properties;  ///< versions, seed, bound …
  std::vector<JunitCase> cases;

  /// "relayout verify"
  [[nodiscard]] std::string program() const { return "relayout " + command; }
  /// "relayout verify a.onnx b.onnx"
  [[nodiscard]] std::string name() const { return program() + " " + arguments; }
};

/// The report as XML 1.0 that GitLab, Jenkins and the usual GitHub actions read: one <testsuites>, consistent counts, seconds with a
/// decimal point in every locale, and characters forbidden in XML as U+FFFD.
[[nodiscard]] std::string junit_text(const std::vector<JunitSuite>& suites);

/// The present time in UTC: "2026-01-31T12:00:00".
[[nodiscard]] std::string junit_now();

/// The report as Markdown for GitHub's step summaries and GitLab's comments: a table with a row per suite, followed by the failures. Names
/// and messages are code, so that nothing in them is markup, a link or a mention.
[[nodiscard]] std::string markdown_text(const std::vector<JunitSuite>& suites);

/// One line `::error file=…::…` per file with failed cases, and `::warning` for skipped cases, in the format of GitHub's runner.
[[nodiscard]] std::string github_annotations(const std::vector<JunitSuite>& suites);

}  // namespace relayout
