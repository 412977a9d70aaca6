// `verify --suite` as JUnit: a test case for each case, and one for a shard that is empty or was interrupted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/numbers.h"
#include "cli/suite_report.h"
#include "cli/verify_junit.h"
#include "relayout/suite.h"
#include "report/junit.h"
#include "suite/shard.h"

namespace relayout::cli {

JunitSuite junit_suite(const SuiteResult& result) {
  JunitSuite suite{"relayout verify --suite " + result.tree + (result.against.empty() ? "" : " --against " + result.against),
                   junit_now(),
                   {{"relayout", result.version}},
                   {}};
  suite.properties.emplace_back("shard", shard_text(result.shard));
  suite.properties.emplace_back("cases", part_text(result));
  if (result.planned == 0) {
    const auto status = result.allow_empty ? JunitCase::Status::skipped : JunitCase::Status::failed;
    suite.cases.push_back({"relayout.suite", "shard " + shard_text(result.shard), "", 0, status, kEmptyShard, ""});
  }
  if (result.interruption) {
    const std::string done = format_count(static_cast<int64_t>(result.cases.size())) + " of " + counted(result.planned, "case");
    suite.cases.push_back({"relayout.suite", "whole", "", 0, JunitCase::Status::error, "interrupted after " + done, ""});
  }
  for (const SuiteCase& done : result.cases) {
    const std::size_t slash = done.name.rfind('/');
    std::string class_name = "relayout.suite" + (slash == std::string::npos ? "" : "." + done.name.substr(0, slash));
    std::ranges::replace(class_name, '/', '.');
    JunitCase& one =
        suite.cases.emplace_back(judged_case(class_name, done.name.substr(slash == std::string::npos ? 0 : slash + 1), done.file));
    one.seconds = done.seconds;
    one.message = done.status == "passed" && !done.expected ? "" : done.status + ": " + case_remark(done);
    if (!one.message.empty()) one.details = done.hint;
    const bool ended = done.status == "failed" || done.status == "pass-loose" || done.status == "passed";
    if (!done.is_as_expected()) {
      one.status = ended ? JunitCase::Status::failed : JunitCase::Status::error;
    } else if (done.expected) {
      one.status = JunitCase::Status::skipped;
    }
  }
  return suite;
}

}  // namespace relayout::cli
