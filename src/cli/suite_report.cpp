// What `verify --suite` says of its cases: text, JSON (and back), JUnit.
#include "cli/suite_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/text_file.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/report_files.h"
#include "cli/terminal.h"
#include "relayout/error.h"
#include "relayout/suite.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/numbers.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::string_view kSchema = "relayout.verify-suite/1";
constexpr char kNoReport[] = "not a report of relayout verify --suite --json";
constexpr std::array<std::string_view, 7> kStatuses = {"passed",      "failed",  "pass-loose", "inconclusive",
                                                       "unsupported", "crashed", "timeout"};

/// "2/4", with the variables that say so.
std::string shard_text(const Shard& shard) {
  return std::to_string(shard.index) + "/" + std::to_string(shard.total) + (shard.source.empty() ? "" : ", from " + shard.source);
}

/// "33 of 132 cases"; "2 cases" where the whole is not known.
std::string part_text(const SuiteResult& result) {
  if (result.whole.cases == 0) return counted(result.planned, "case");
  return format_count(result.planned) + " of " + counted(result.whole.cases, "case");
}

/// Seconds with which to tell cases apart and to balance shards; more digits would only be noise.
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
  return out;
}

/// A report as it is read back; what is not as suite_json() writes it is refused.
class Reader {
 public:
  Reader(const Json& document, std::string name) : document_(document), name_(std::move(name)) {}

  SuiteResult read() {
    if (text(document_, "schema") != kSchema) refuse(kNoReport);
    if (document_.find("error")) refuse("the report of a run that came to nothing");
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
  [[noreturn]] void refuse(const std::string& why) const { fail(ErrorKind::invalid, escape(name_) + ": " + why); }
  [[nodiscard]] Json member(const Json& object, std::string_view key) const {
    std::optional<Json> value = object.find(key);
    if (!value) refuse("no " + quote(key) + " where the report of a suite has it");
    return std::move(*value);
  }
  [[nodiscard]] std::string text(const Json& object, std::string_view key) const {
    std::optional<std::string> value = member(object, key).text();
    if (!value) refuse(quote(key) + " is no text");
    return std::move(*value);
  }
  [[nodiscard]] double number(const Json& object, std::string_view key) const {
    const std::optional<double> value = member(object, key).number();
    if (!value || *value < 0) refuse(quote(key) + " is no number from 0 on");
    return *value;
  }
  [[nodiscard]] int64_t count(const Json& object, std::string_view key) const {
    constexpr double kMost = 1e15;
    const double value = number(object, key);
    if (value > kMost || value != std::floor(value)) refuse(quote(key) + " is no count");
    return static_cast<int64_t>(value);
  }
  [[nodiscard]] std::vector<std::string> texts(const Json& object, std::string_view key) const {
    const Json list = member(object, key);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      out.push_back(list.at(i)->text().value_or(""));
      if (!list.at(i)->text()) refuse(quote(key) + " is no list of texts");
    }
    return out;
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
    if (std::ranges::find(kStatuses, out.status) == kStatuses.end()) refuse(quote(out.name) + ": no status is called " + quote(out.status));
    if (one.find("expected")) out.expected = text(one, "expected");
    if (out.expected) out.reason = text(one, "reason");
    if (one.find("source")) out.source = text(one, "source");
    if (one.find("file")) out.file = text(one, "file");
    if (one.find("hint")) out.hint = text(one, "hint");
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
  std::string name_;
};

}  // namespace

std::string suite_summary(const SuiteResult& result) {
  std::string out = format_count(result.count("passed")) + " of " + counted(static_cast<int64_t>(result.cases.size()), "case") + " passed";
  std::string others;
  for (const std::string_view status : kStatuses) {
    const int64_t count = result.count(status);
    if (count == 0 || status == "passed") continue;
    others += (others.empty() ? "" : ", ") + format_count(count) + " " + std::string(status);
  }
  const auto known = std::ranges::count_if(result.cases, [](const SuiteCase& one) { return !one.source.empty(); });
  const std::string cached = known == 0 ? "" : " · " + format_count(known) + " from the cache";
  return out + (others.empty() ? "" : " · " + others) + cached + " · " + seconds_text(result.seconds);
}

std::string case_remark(const SuiteCase& one) {
  if (one.expected && one.status == "passed") return "listed as " + *one.expected + ": " + printable(one.reason);
  if (one.expected && !one.is_as_expected()) return printable(one.message) + "; listed as " + *one.expected;
  return one.expected ? printable(one.reason) : printable(one.message);
}

std::string suite_part(const SuiteResult& result) {
  const bool is_shard = result.shard.total > 1 || !result.shard.source.empty();
  if (is_shard) return "shard " + shard_text(result.shard) + ": " + part_text(result);
  return result.planned == result.whole.cases ? "" : "part of the suite: " + part_text(result);
}

Cell suite_verdict(const SuiteResult& result) {
  const int64_t wrong = result.unexpected() + static_cast<int64_t>(result.stale.size());
  std::string word = result.is_empty_shard() ? "nothing run" : wrong == 0 ? "as expected" : format_count(wrong) + " not as expected";
  if (result.interruption) word = "interrupted with " + format_count(result.planned - static_cast<int64_t>(result.cases.size())) + " to go";
  return {std::move(word), result.passed() ? Style::good : Style::bad};
}

namespace {

/// What to do about cases that are not as expected, each hint once.
std::vector<std::string> hints_of(const SuiteResult& result) {
  std::vector<std::string> out;
  for (const SuiteCase& one : result.cases) {
    if (one.hint.empty() || one.is_as_expected() || std::ranges::find(out, one.hint) != out.end()) continue;
    out.push_back(one.hint);
  }
  return out;
}

}  // namespace

std::string suite_text(const SuiteResult& result, const ReportStyle& style) {
  TextTable table({.color = style.color, .width = style.width});
  for (const SuiteCase& one : result.cases) {
    const bool good = one.is_as_expected();
    if (good && !style.verbose) continue;
    table.row({escape(one.name), {one.status, good ? Style::good : Style::bad}, {seconds_text(one.seconds), Style::faint, Align::right}});
    const std::string more = case_remark(one);
    if (!more.empty()) table.line("  " + more, good ? Style::faint : Style::bad);
  }
  for (const std::string& name : result.stale) table.row({escape(name), {"not there", Style::bad}, "listed as an exception"});
  for (const std::string& hint : hints_of(result)) table.line("hint: " + printable(hint));
  const std::string part = suite_part(result);
  if (!part.empty()) table.line(part);
  if (result.planned == 0)
    table.line("nothing was run: this shard has no case" + std::string(result.allow_empty ? "" : " (--allow-empty accepts that)"));
  TextTable verdict({.color = style.color, .width = style.width});
  verdict.row({suite_verdict(result), suite_summary(result), "exit " + std::to_string(exit_code(result))});
  return style.quiet ? verdict.text() : table.text() + verdict.text();
}

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
  for (const std::string_view status : kStatuses) summary.set(status, result.count(status));
  summary.set("unexpected", result.unexpected()).set("stale", result.stale).set("seconds", to_microseconds(result.seconds));
  out.set("cases", std::move(cases)).set("summary", std::move(summary));
  return std::move(out.set("exit_code", exit_code(result)));
}

int write_suite(const SuiteResult& result, const ReportFiles& files, const Common& common) {
  return files.write(common, {.suites = {junit_suite(result)},
                              .document = suite_json(result),
                              .text = suite_text(result, files.style(common)),
                              .page = [&] { return suite_html(result); },
                              .code = exit_code(result)});
}

SuiteResult read_suite(const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const std::string text = read_text(*File::open(path), kMost, "a report");
  if (text.find_first_not_of(" \t\r\n") != text.find('{')) fail(ErrorKind::invalid, escape(path) + ": " + kNoReport);
  const Json document = Json::parse(text, path);
  return Reader(document, path).read();
}

JunitSuite junit_suite(const SuiteResult& result) {
  JunitSuite suite{"relayout verify --suite " + result.tree + (result.against.empty() ? "" : " --against " + result.against),
                   junit_now(),
                   {{"relayout", result.version}},
                   {}};
  suite.properties.emplace_back("shard", shard_text(result.shard));
  suite.properties.emplace_back("cases", part_text(result));
  if (result.planned == 0) {
    const auto status = result.allow_empty ? JunitCase::Status::skipped : JunitCase::Status::failed;
    suite.cases.push_back({"relayout.suite", "shard " + shard_text(result.shard), "", 0, status, "this shard has no case", ""});
  }
  if (result.interruption) {
    const std::string done = format_count(static_cast<int64_t>(result.cases.size())) + " of " + counted(result.planned, "case");
    suite.cases.push_back({"relayout.suite", "whole", "", 0, JunitCase::Status::error, "interrupted after " + done, ""});
  }
  for (const SuiteCase& done : result.cases) {
    JunitCase& one = suite.cases.emplace_back();
    const std::size_t slash = done.name.rfind('/');
    one.class_name = "relayout.suite" + (slash == std::string::npos ? "" : "." + done.name.substr(0, slash));
    std::ranges::replace(one.class_name, '/', '.');
    one.name = done.name.substr(slash == std::string::npos ? 0 : slash + 1);
    one.seconds = done.seconds;
    one.file = done.file;
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
