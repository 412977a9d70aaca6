// Writes the result of a suite as a document, and reads it back to be shown, merged or resumed.
#include "suite/document.h"

#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/suite.h"
#include "report/json.h"
#include "suite/shard.h"

namespace relayout {
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
