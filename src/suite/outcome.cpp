// Decides how cases of a suite ended and whether that was expected, and writes and reads the suite's document.

#include <string.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <istream>
#include <sstream>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/suite.h"
#include "report/json.h"
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

// Writes the result of a suite as a document, and reads it back to be shown, merged or resumed.
namespace {

constexpr std::string_view kSchema = "relayout.verify-suite/1";
constexpr char kNoReport[] = "not a report of relayout verify --suite --json";

/// Rounds seconds to microseconds, enough to compare cases and to balance shards. More digits would be noise.
double to_microseconds(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

Json case_json(const SuiteCase& one) {
  Json out = Json::object();
  out.set("name", one.name).set("status", one.status).set("seconds", to_microseconds(one.seconds)).set("message", one.message);
  if (one.expected) out.set("expected", *one.expected).set("reason", one.reason);
  if (!one.source.empty()) out.set("source", one.source);
  if (!one.file.empty()) out.set("file", one.file);
  if (!one.hint.empty()) out.set("hint", one.hint);
  if (one.allowed) out.set("allowed", true);
  return out;
}

/// Reads a report. Documents that differ from the form of suite_json() are refused.
class Reader : private JsonReader {
 public:
  Reader(const Json& document, std::string name) : JsonReader(std::move(name), kNoReport), document_(document) {}

  SuiteResult read() {
    if (text(document_, "schema") != kSchema) refuse("another schema");
    if (document_.find("error")) refuse("its run came to nothing");
    SuiteResult out;
    out.tree = text(document_, "tree");
    out.against = document_.find("against") ? text(document_, "against") : "";
    out.pair = document_.find("pair") ? text(document_, "pair") : "";
    out.version = text(member(document_, "tool"), "version");
    out.options = texts(document_, "options");
    read_extent(out);
    const Json cases = member(document_, "cases");
    for (std::size_t i = 0; i < cases.size(); ++i) out.cases.push_back(read_case(*cases.at(i)));
    const Json summary = member(document_, "summary");
    out.stale = texts(summary, "stale");
    out.seconds = number(summary, "seconds");
    if (document_.find("interrupted")) {
      out.interruption = text(document_, "interrupted") == "SIGINT" ? ErrorKind::interrupted : ErrorKind::terminated;
    }
    check(out);
    return out;
  }

 private:
  [[nodiscard]] int64_t count(const Json& object, std::string_view key) const {
    constexpr double kMost = 1e15;
    const double value = number(object, key);
    if (value > kMost || value != std::floor(value)) refuse(quote(key) + " is no count");
    return static_cast<int64_t>(value);
  }
  void read_extent(SuiteResult& out) const {
    const Json shard = member(document_, "shard"), suite = member(document_, "suite");
    out.shard.index = count(shard, "index");
    out.shard.total = count(shard, "total");
    if (shard.find("source")) out.shard.source = text(shard, "source");
    out.planned = count(shard, "cases");
    out.whole = {count(suite, "cases"), text(suite, "digest")};
  }

  [[nodiscard]] SuiteCase read_case(const Json& one) const {
    SuiteCase out{text(one, "name"), text(one, "status"), number(one, "seconds"), text(one, "message"), {}, ""};
    if (std::ranges::find(kCaseStatuses, out.status) == kCaseStatuses.end())
      refuse(quote(out.name) + ": no status is called " + quote(out.status));
    if (one.find("expected")) out.expected = text(one, "expected");
    if (out.expected) out.reason = text(one, "reason");
    if (one.find("source")) out.source = text(one, "source");
    if (one.find("file")) out.file = text(one, "file");
    if (one.find("hint")) out.hint = text(one, "hint");
    out.allowed = one.find("allowed").has_value();
    return out;
  }

  void check(const SuiteResult& out) const {
    if (out.shard.index < 1 || out.shard.index > out.shard.total) refuse("there is no shard " + shard_text(out.shard));
    const auto at = std::ranges::adjacent_find(out.cases, std::ranges::greater_equal(), &SuiteCase::name);
    if (at != out.cases.end()) refuse("case " + quote(at->name) + " is not before the next");
    const auto run = static_cast<int64_t>(out.cases.size());
    if (run > out.planned || (run < out.planned && !out.interruption)) refuse("it has " + counted(run, "case") + " of " + part_text(out));
  }

  const Json& document_;
};

}  // namespace

Json suite_json(const SuiteResult& result) {
  Json out = Json::object();
  out.set("schema", kSchema).set("tool", Json::object().set("version", result.version)).set("tree", result.tree);
  if (!result.against.empty()) out.set("against", result.against);
  if (!result.pair.empty()) out.set("pair", result.pair);
  out.set("options", result.options);
  Json cases = Json::array(), summary = Json::object(), shard = Json::object();
  for (const SuiteCase& one : result.cases) cases.add(case_json(one));
  shard.set("index", result.shard.index).set("total", result.shard.total);
  if (!result.shard.source.empty()) shard.set("source", result.shard.source);
  out.set("shard", std::move(shard.set("cases", result.planned)));
  out.set("suite", Json::object().set("cases", result.whole.cases).set("digest", result.whole.digest));
  if (result.interruption) out.set("interrupted", *result.interruption == ErrorKind::interrupted ? "SIGINT" : "SIGTERM");
  summary.set("total", result.cases.size()).set("whole", result.whole.cases);
  for (const std::string_view status : kCaseStatuses) summary.set(status, result.count(status));
  summary.set("unexpected", result.unexpected()).set("stale", result.stale).set("seconds", to_microseconds(result.seconds));
  out.set("cases", std::move(cases)).set("summary", std::move(summary));
  return std::move(out.set("exit_code", exit_code(result)));
}

SuiteResult read_suite(const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const std::string text = read_text(*File::open(path), kMost, "a report");
  if (text.find_first_not_of(" \t\r\n") != text.find('{')) fail(ErrorKind::invalid, escape(path) + ": " + kNoReport);
  const Json document = Json::parse(text, path);
  return Reader(document, path).read();
}

}  // namespace relayout
