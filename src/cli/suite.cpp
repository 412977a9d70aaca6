// `verify --suite`: the options, the run by child processes of this program, and its reports.
#include "cli/suite.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/text_file.h"
#include "base/threads.h"
#include "cli/options.h"
#include "cli/own_program.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/shard.h"
#include "relayout/suite.h"
#include "relayout/version.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::array<std::string_view, 6> kStatuses = {"passed", "failed", "pass-loose", "unsupported", "crashed", "timeout"};

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no thread changes it
  return value == nullptr ? "" : value;
}

std::string seconds_text(double seconds) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text.data();
}

/// "1,331 of 1,428 passed · 12 as expected: 9 unsupported, 3 failed"
std::string summary(const SuiteResult& result) {
  std::string out = format_count(result.count("passed")) + " of " + counted(static_cast<int64_t>(result.cases.size()), "case") + " passed";
  std::string others;
  for (const std::string_view status : kStatuses) {
    const int64_t count = result.count(status);
    if (count == 0 || status == "passed") continue;
    others += (others.empty() ? "" : ", ") + format_count(count) + " " + std::string(status);
  }
  return out + (others.empty() ? "" : " · " + others) + " · " + seconds_text(result.seconds);
}

/// What there is to say of a case in one line below its own.
std::string remark(const SuiteCase& one) {
  if (one.expected && one.status == "passed") return "listed as " + *one.expected + ": " + escape(one.reason);
  if (one.expected && !one.is_as_expected()) return escape(one.message) + "; listed as " + *one.expected;
  return one.expected ? escape(one.reason) : escape(one.message);
}

/// Bazel wants to know that a test with several shards runs a part only: it looks for this file.
void acknowledge_shards() {
  const std::string file = environment("TEST_SHARD_STATUS_FILE");
  if (!file.empty()) write_text_file(file, "");
}

/// "2/4", with the variables that say so.
std::string shard_text(const Shard& shard) {
  return std::to_string(shard.index) + "/" + std::to_string(shard.total) + (shard.source.empty() ? "" : ", from " + shard.source);
}

/// "shard 2/4: 33 of 132 cases"; empty for the whole suite.
std::string shard_line(const SuiteResult& result) {
  if (result.shard.total == 1 && result.shard.source.empty()) return "";
  return "shard " + shard_text(result.shard) + ": " + format_count(static_cast<int64_t>(result.cases.size())) + " of " +
         counted(result.whole, "case");
}

}  // namespace

void declare_suite_options(OptionSet& options, SuiteRequest& request) {
  options.group("Suites");
  options.text("--suite", "TREE", request.tree,
               "every case below TREE (folders with model.onnx and test_data_set_N), in processes of their own");
  options.integer("--jobs", "N", 1, request.jobs, "cases at a time (default: all CPUs of this process)");
  options.real("--timeout", "S", request.timeout, "seconds a case may take (default: 120)");
  options.text("--shard", "I/N|auto", request.shard,
               "only part I of N; auto, or auto/N where the scheduler gives no N: as the job's environment says");
  options.flag("--allow-empty", request.allow_empty, "exit 0 when the part has no case");
  options.text("--expected", "FILE", request.expected, "cases that are known not to pass, as lines NAME STATUS REASON");
}

SuiteResult run_suite(const SuiteRequest& request, const std::vector<std::string>& options, Progress& progress) {
  constexpr int64_t kMostJobs = 1024;
  SuiteOptions how;
  how.command = {own_program(), "verify"};
  how.command.insert(how.command.end(), options.begin(), options.end());
  how.command.insert(how.command.end(), {"--json", "--quiet"});
  how.jobs = request.jobs > 0 ? static_cast<int>(std::min(request.jobs, kMostJobs)) : available_cpus();
  if (request.timeout) how.timeout = *request.timeout;
  how.shard = shard_of(request.shard, environment);
  if (!how.shard.source.empty()) acknowledge_shards();
  how.allow_empty = request.allow_empty;
  how.expected = request.expected;
  how.progress = [&](int64_t done, int64_t total) { progress.steps("verifying", done, total); };
  return relayout::run_suite(request.tree, how);
}

std::string suite_text(const SuiteResult& result, const ReportStyle& style) {
  TextTable table({.color = style.color, .width = style.width});
  for (const SuiteCase& one : result.cases) {
    const bool good = one.is_as_expected();
    if (good && !style.verbose) continue;
    table.row({escape(one.name), {one.status, good ? Style::good : Style::bad}, {seconds_text(one.seconds), Style::faint, Align::right}});
    const std::string more = remark(one);
    if (!more.empty()) table.line("  " + more, good ? Style::faint : Style::bad);
  }
  for (const std::string& name : result.stale) table.row({escape(name), {"not there", Style::bad}, "listed as an exception"});
  const std::string shard = shard_line(result);
  if (!shard.empty()) table.line(shard);
  if (result.cases.empty())
    table.line("nothing was run: this shard has no case" + std::string(result.allow_empty ? "" : " (--allow-empty accepts that)"));
  TextTable verdict({.color = style.color, .width = style.width});
  const int64_t wrong = result.unexpected() + static_cast<int64_t>(result.stale.size());
  const std::string word = result.is_empty_shard() ? "nothing run" : wrong == 0 ? "as expected" : format_count(wrong) + " not as expected";
  verdict.row({{word, result.passed() ? Style::good : Style::bad}, summary(result), "exit " + std::to_string(exit_code(result))});
  return table.text() + verdict.text();
}

Json suite_json(const SuiteResult& result) {
  Json out = Json::object();
  out.set("schema", "relayout.verify-suite/1").set("tool", Json::object().set("version", kVersion)).set("tree", result.tree);
  Json cases = Json::array(), summary = Json::object();
  for (const SuiteCase& one : result.cases) {
    Json entry = Json::object();
    entry.set("name", one.name).set("status", one.status).set("seconds", one.seconds).set("message", one.message);
    if (one.expected) entry.set("expected", *one.expected).set("reason", one.reason);
    cases.add(std::move(entry));
  }
  Json shard = Json::object();
  shard.set("index", result.shard.index).set("total", result.shard.total);
  if (!result.shard.source.empty()) shard.set("source", result.shard.source);
  out.set("shard", std::move(shard));
  summary.set("total", result.cases.size()).set("whole", result.whole);
  for (const std::string_view status : kStatuses) summary.set(status, result.count(status));
  summary.set("unexpected", result.unexpected()).set("stale", result.stale).set("seconds", result.seconds);
  out.set("cases", std::move(cases)).set("summary", std::move(summary));
  return std::move(out.set("exit_code", exit_code(result)));
}

JunitSuite junit_suite(const SuiteResult& result) {
  JunitSuite suite{"relayout verify --suite " + result.tree, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  suite.properties.emplace_back("shard", shard_text(result.shard));
  suite.properties.emplace_back("cases", std::to_string(result.cases.size()) + " of " + std::to_string(result.whole));
  if (result.cases.empty()) {
    const auto status = result.allow_empty ? JunitCase::Status::skipped : JunitCase::Status::failed;
    suite.cases.push_back({"relayout.suite", "shard " + shard_text(result.shard), "", 0, status, "this shard has no case", ""});
  }
  for (const SuiteCase& done : result.cases) {
    JunitCase& one = suite.cases.emplace_back();
    const std::size_t slash = done.name.rfind('/');
    one.class_name = "relayout.suite" + (slash == std::string::npos ? "" : "." + done.name.substr(0, slash));
    std::ranges::replace(one.class_name, '/', '.');
    one.name = done.name.substr(slash == std::string::npos ? 0 : slash + 1);
    one.seconds = done.seconds;
    one.message = done.status == "passed" && !done.expected ? "" : done.status + ": " + remark(done);
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
