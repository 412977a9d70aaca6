#pragma once

#include <string>
#include <utility>
#include <vector>

namespace relayout {

/// One line of a JUnit report.
struct JunitCase {
  enum class Status {
    passed,
    failed,   ///< the answer is no
    error,    ///< it could not be run
    skipped,  ///< nothing was tested, and that is allowed
  };
  std::string class_name;  ///< GitLab shows it as the suite
  std::string name;        ///< made unique among its class: GitLab drops all but the first of equal ones
  std::string file;        ///< what annotations point at; may be empty
  double seconds = 0;
  Status status = Status::passed;
  std::string message;  ///< one line; first line of the text too, because some readers show only that
  std::string details;  ///< further lines; together cut at 8 KiB
};

struct JunitSuite {
  std::string name;
  std::string timestamp;                                        ///< ISO 8601; left out when empty
  std::vector<std::pair<std::string, std::string>> properties;  ///< versions, seed, bound …
  std::vector<JunitCase> cases;
};

/// The report as XML 1.0 that GitLab, Jenkins and the usual GitHub actions read: one <testsuites>, counts that add up, seconds with a
/// point in every locale, characters that XML forbids as U+FFFD.
[[nodiscard]] std::string junit_text(const std::vector<JunitSuite>& suites);

/// "2026-01-31T12:00:00", in UTC.
[[nodiscard]] std::string junit_now();

}  // namespace relayout
