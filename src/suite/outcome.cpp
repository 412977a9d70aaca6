// Decides how a case ended, whether that was expected, and whether a suite is as expected.
#include <string.h>

#include <climits>
#include <istream>
#include <sstream>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "suite/suite.h"

namespace relayout {

// The list of cases that are known not to pass.
namespace {

/// "failed, pass-loose, …": every status but "passed".
std::string listed_statuses() {
  std::string out;
  for (const std::string_view status : kCaseStatuses) {
    if (status != "passed") out.append(out.empty() ? "" : ", ").append(status);
  }
  return out;
}

}  // namespace

ExpectedCases parse_expected_cases(const std::string& text, const std::string& name) {
  ExpectedCases out;
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    const std::string place = escape(name) + ": line " + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::string case_name;
    ExpectedCase entry;
    if (!(words >> case_name) || case_name.starts_with('#')) continue;
    words >> entry.status;
    std::getline(words >> std::ws, entry.reason);
    if (entry.status == "passed" || std::ranges::find(kCaseStatuses, entry.status) == kCaseStatuses.end()) {
      fail(ErrorKind::invalid, place + quote(entry.status) + " is none of " + listed_statuses());
    }
    if (entry.reason.empty()) fail(ErrorKind::invalid, place + "no reason is given");
    if (!out.emplace(case_name, std::move(entry)).second) fail(ErrorKind::invalid, place + quote(case_name) + " is there twice");
  }
  return out;
}

ExpectedCases read_expected_cases(const std::filesystem::path& path) {
  constexpr int64_t kMaxSize = int64_t{16} << 20;
  return parse_expected_cases(read_text(*File::open(path), kMaxSize, "a list of cases"), path.string());
}

void apply_expected(const ExpectedCases& expected, std::vector<SuiteCase>& cases) {
  for (SuiteCase& one : cases) {
    const auto entry = expected.find(one.name);
    if (entry == expected.end()) continue;
    one.expected = entry->second.status;
    one.reason = entry->second.reason;
  }
}

void expect_inconclusive(std::vector<SuiteCase>& cases) {
  for (SuiteCase& one : cases) {
    if (one.expected || one.status != "inconclusive") continue;
    one.expected = one.status;
    one.reason = one.message;
  }
}

std::vector<std::string> stale_cases(const ExpectedCases& expected, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& [name, entry] : expected) {
    if (!std::ranges::binary_search(names, name)) out.push_back(name);
  }
  return out;
}

// Outcomes of cases.
namespace {

/// Exit codes of a child.
constexpr int kNo = 1, kUnsupported = 4;

/// The first line of an error message, without the program's name.
std::string first_line(std::string_view text) {
  constexpr std::string_view kProgram = "relayout: ";
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.starts_with(kProgram)) line.remove_prefix(kProgram.size());
  return std::string(line);
}

/// Takes the worst status of the sets and modes in the document of `verify MODEL --data`.
void read_stored(const Json& document, SuiteCase& out) {
  constexpr std::string_view kWorstFirst[] = {"unsupported", "failed", "pass-loose", "passed"};
  const Json cases = document.find("cases").value_or(Json::array());
  for (const std::string_view status : kWorstFirst) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Json one = *cases.at(i);
      if (one.text("status") != status) continue;
      out.status = status;
      if (status != "passed") out.message = one.text("name") + ": " + one.text("message");
      return;
    }
  }
  out.status = "failed";
  out.message = "a report without cases";
}

/// Reads the document of `verify A B`.
void read_pair(const Json& document, SuiteCase& out) {
  const std::string verdict = document.text("verdict");
  const Json unsupported = document.find("unsupported").value_or(Json::array());
  out.message = document.text("reason");
  if (unsupported.size() > 0) {
    std::vector<Unsupported> nodes;
    for (std::size_t i = 0; i < unsupported.size(); ++i) {
      const Json node = *unsupported.at(i);
      nodes.push_back({node.text("node"), node.text("op_type"), node.text("domain"), 0, node.text("why")});
    }
    out.status = "unsupported";
    out.message = cannot_run_text(nodes);
  } else if (verdict == "same" || verdict == "accepted") {
    out.status = "passed";
    if (verdict == "same") out.message.clear();
  } else {
    out.status = verdict == "inconclusive" ? "inconclusive" : "failed";
    if (out.message.empty()) out.message = verdict.empty() ? "a report without a verdict" : verdict;
  }
}

/// Output of a case: a document of `verify --json`, or the reason why it is not one.
struct Printed {
  Json document;
  std::string fault;

  [[nodiscard]] std::optional<Json> error() const { return fault.empty() ? document.find("error") : std::nullopt; }
};

Printed printed_by(const ChildResult& child) {
  try {
    return {Json::parse(child.out, "the report of the case"), ""};
  } catch (const Error& error) {
    return {Json(), error.what()};
  }
}

void read_document(const SuiteEntry& entry, const Printed& printed, SuiteCase& out) {
  if (printed.fault.empty()) return entry.data.empty() ? read_pair(printed.document, out) : read_stored(printed.document, out);
  out.status = "failed";
  out.message = printed.fault;
}

}  // namespace

SuiteCase case_of(const SuiteEntry& entry, const ChildResult& child, double timeout) {
  SuiteCase out;
  out.name = entry.name;
  out.seconds = child.seconds;
  if (child.timed_out) {
    out.status = "timeout";
    out.message = "still running after " + shortest(timeout) + " s";
    return out;
  }
  if (child.signal != 0) {
    const char* const name = sigabbrev_np(child.signal);
    out.status = "crashed";
    out.message = "ended by signal " + (name == nullptr ? std::to_string(child.signal) : "SIG" + std::string(name));
    return out;
  }
  const Printed printed = printed_by(child);
  if (const auto error = printed.error()) {
    out.status = child.code == kUnsupported ? "unsupported" : "failed";
    out.message = error->text("message") + " (exit " + std::to_string(child.code) + ")";
    out.hint = error->text("hint");
  } else if (child.code == 0 || child.code == kNo || (child.code == kUnsupported && !child.out.empty())) {
    read_document(entry, printed, out);
    out.allowed = child.code == 0 && out.status == "inconclusive";
  } else {
    out.status = child.code == kUnsupported ? "unsupported" : "failed";
    out.message = first_line(child.err) + " (exit " + std::to_string(child.code) + ")";
  }
  return out;
}

bool is_verdict(const SuiteCase& one, const ChildResult& child) {
  const bool has_answered = child.signal == 0 && !child.timed_out && (child.code == 0 || child.code == kNo || child.code == kUnsupported);
  return has_answered && !child.out.empty() && one.status != "crashed";
}

// Whole suites.
bool SuiteCase::is_as_expected() const {
  return expected ? status == *expected : status == "passed" || allowed;
}

int64_t SuiteResult::count(std::string_view status) const {
  return std::ranges::count(cases, status, &SuiteCase::status);
}

int64_t SuiteResult::unexpected() const {
  return std::ranges::count_if(cases, [](const SuiteCase& one) { return !one.is_as_expected(); });
}

bool SuiteResult::is_empty_shard() const {
  return planned == 0 && !allow_empty;
}

bool SuiteResult::is_partial() const {
  return planned != whole.cases;
}

bool SuiteResult::passed() const {
  return unexpected() == 0 && stale.empty() && !is_empty_shard() && !interruption;
}

int exit_code(const SuiteResult& result) noexcept {
  if (result.interruption) return exit_code(*result.interruption);
  return result.passed() ? 0 : 1;
}

}  // namespace relayout
