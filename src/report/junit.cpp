// Writes test cases for CI services: JUnit, a summary in Markdown, and annotations.
#include "report/junit.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <set>

#include "base/numbers.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {

// JUnit.
namespace {

constexpr std::size_t kMostText = 8192;

std::string seconds_text(double seconds) {
  return fixed(seconds >= 0 && seconds < 1e9 ? seconds : 0, 3);
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escape_markup(value) + "\"";
}

/// The first `most` bytes or fewer, without splitting a character.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

/// Attributes of one suite or, without the number of skipped cases, which its schema lacks, of all.
std::string counts(std::span<const JunitSuite> suites, bool of_all) {
  std::array<int64_t, 4> count{};
  double seconds = 0;
  for (const JunitSuite& suite : suites) {
    for (const JunitCase& one : suite.cases) {
      ++count[static_cast<std::size_t>(one.status)];
      seconds += one.seconds;
    }
  }
  const auto& [passed, failed, errors, skipped] = count;
  return attribute("tests", std::to_string(passed + failed + errors + skipped)) + attribute("failures", std::to_string(failed)) +
         attribute("errors", std::to_string(errors)) + (of_all ? "" : attribute("skipped", std::to_string(skipped))) +
         attribute("time", seconds_text(seconds));
}

std::string outcome_text(const JunitCase& one) {
  const auto element = [&](const std::string& name, const std::string& type) {
    const std::string lines = one.details.empty() ? one.message : one.message + "\n" + one.details;
    return "      <" + name + attribute("message", cut(one.message, kMostText)) + type + ">" + escape_markup(cut(lines, kMostText)) + "</" +
           name + ">\n";
  };
  switch (one.status) {
    case JunitCase::Status::failed:
      return element("failure", attribute("type", "different"));
    case JunitCase::Status::error:
      return element("error", attribute("type", "error"));
    case JunitCase::Status::skipped:
      return element("skipped", "");
    case JunitCase::Status::passed:
      break;
  }
  return {};
}

/// A name that is unique as readers compare it, after escaping.
std::string unique_name(const JunitCase& one, std::set<std::pair<std::string, std::string>>& taken) {
  const std::string class_name = printable_markup(one.class_name), name = printable_markup(one.name);
  std::string unique = name;
  for (int number = 2; !taken.emplace(class_name, unique).second; ++number) unique = name + " (" + std::to_string(number) + ")";
  return unique;
}

std::string case_text(const JunitCase& one, const std::string& name) {
  std::string out = "    <testcase" + attribute("classname", one.class_name) + attribute("name", name);
  if (!one.file.empty()) out += attribute("file", one.file);
  out += attribute("time", seconds_text(one.seconds));
  const std::string inside = outcome_text(one);
  return inside.empty() ? out + "/>\n" : out + ">\n" + inside + "    </testcase>\n";
}

}  // namespace

std::string junit_text(const std::vector<JunitSuite>& suites) {
  std::string body;
  std::set<std::pair<std::string, std::string>> taken;
  for (const JunitSuite& suite : suites) {
    body += "  <testsuite" + attribute("name", suite.name()) + counts({&suite, 1}, /*of_all=*/false);
    body += (suite.timestamp.empty() ? "" : attribute("timestamp", suite.timestamp)) + ">\n";
    const std::string properties = joined(suite.properties, "", [](const auto& one) {
      return "      <property" + attribute("name", one.first) + attribute("value", one.second) + "/>\n";
    });
    if (!properties.empty()) body += "    <properties>\n" + properties + "    </properties>\n";
    for (const JunitCase& one : suite.cases) body += case_text(one, unique_name(one, taken));
    body += "  </testsuite>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts(suites, /*of_all=*/true) + ">\n" + body + "</testsuites>\n";
}

std::string junit_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return {text.data(), size};
}

// Summaries and annotations.
namespace {

using Status = JunitCase::Status;

/// Maximum number of failed cases listed per suite; GitHub shows at most 1 MiB of a summary.
constexpr std::size_t kMostListed = 10;

bool is_bad(const JunitCase& one) {
  return one.status == Status::failed || one.status == Status::error;
}

/// Text as code in a cell of a table, escaped so that it ends neither the cell nor the code.
std::string code(std::string_view text) {
  std::string out = "<code>";
  for (const char c : escape_markup(text)) {
    const bool is_markup = std::string_view("|`\\*_[~").find(c) != std::string_view::npos;
    out += is_markup ? "&#" + std::to_string(static_cast<int>(c)) + ";" : std::string(1, c == '\n' ? ' ' : c);
  }
  return out + "</code>";
}

std::string word_of(const JunitSuite& suite) {
  const auto has = [&](Status status) { return std::ranges::find(suite.cases, status, &JunitCase::status) != suite.cases.end(); };
  if (has(Status::error)) return "❌ error";
  if (has(Status::failed)) return "❌ failed";
  return has(Status::skipped) ? "⚠️ not all tested" : "✅ passed";
}

std::string row(const JunitSuite& suite) {
  const auto good = std::ranges::count(suite.cases, Status::passed, &JunitCase::status);
  const auto bad = std::ranges::find_if(suite.cases, is_bad);
  double seconds = 0;
  for (const JunitCase& one : suite.cases) seconds += one.seconds;
  return markdown_row({word_of(suite), code(suite.name()), format_count(good) + " of " + format_count(std::ssize(suite.cases)),
                       bad == suite.cases.end() ? "" : code(bad->message), fixed(seconds, 1) + " s"});
}

std::string failures(const JunitSuite& suite) {
  std::vector<const JunitCase*> bad;
  for (const JunitCase& one : suite.cases) {
    if (is_bad(one)) bad.push_back(&one);
  }
  if (bad.empty()) return "";
  std::string out = "\n**" + code(suite.name()) + "**\n\n";
  for (const JunitCase* one : std::span(bad).first(std::min(kMostListed, bad.size()))) {
    out += "- " + code(one->name) + " " + code(one->message) + (one->details.empty() ? "" : "<br>" + code(one->details)) + "\n";
  }
  const auto more = std::ssize(bad) - static_cast<int64_t>(kMostListed);
  return more > 0 ? out + "- and " + format_count(more) + " more\n" : out;
}

/// Escapes text as GitHub's runner expects; in a property, two more characters would end the value.
std::string command_text(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned char>(c));
    out += special ? std::string(code.data()) : std::string(1, c);
  }
  return out;
}

/// The annotation of one file: the command, its first case, and the first details of any of its cases.
struct Annotation {
  std::string file, title;
  const JunitCase* first = nullptr;
  std::string details;
  int64_t more = 0;
};

/// Annotations of the cases of `wanted` kind, one per file, in the order of the report.
template <class Wanted>
std::vector<Annotation> annotations(const std::vector<JunitSuite>& suites, const Wanted& wanted) {
  std::vector<Annotation> out;
  for (const JunitSuite& suite : suites) {
    for (const JunitCase& one : suite.cases) {
      if (!wanted(one)) continue;
      const auto known = std::ranges::find(out, one.file, &Annotation::file);
      if (known == out.end()) {
        out.push_back({one.file, suite.program(), &one, one.details});
      } else {
        ++known->more;
        if (known->details.empty()) known->details = one.details;
      }
    }
  }
  return out;
}

std::string commands(const std::string& level, const std::vector<Annotation>& list) {
  std::string out;
  for (const Annotation& one : list) {
    const std::string file = one.file.empty() ? "" : "file=" + command_text(one.file, true) + ",";
    std::string message = one.first->name + ": " + one.first->message;
    if (!one.details.empty()) message += "\n" + one.details;
    if (one.more > 0) message += "\nand " + format_count(one.more) + " more";
    out.append("::").append(level).append(" ").append(file).append("title=").append(one.title);
    out.append("::").append(command_text(printable_markup(message), false)).append("\n");
  }
  return out;
}

}  // namespace

std::string markdown_text(const std::vector<JunitSuite>& suites) {
  return "### " + (suites.empty() ? "relayout" : suites.front().program()) +
         "\n\n| | suite | cases | first finding | time |\n|---|---|---|---|---|\n" + joined(suites, "", row) + joined(suites, "", failures);
}

std::string github_annotations(const std::vector<JunitSuite>& suites) {
  return commands("error", annotations(suites, is_bad)) +
         commands("warning", annotations(suites, [](const JunitCase& one) { return one.status == Status::skipped; }));
}

}  // namespace relayout
