// Writes JUnit reports for CI services.
#include "report/junit.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "report/page.h"

namespace relayout {
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

struct Counts {
  int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const JunitCase& one) {
    ++tests;
    failures += one.status == JunitCase::Status::failed ? 1 : 0;
    errors += one.status == JunitCase::Status::error ? 1 : 0;
    skipped += one.status == JunitCase::Status::skipped ? 1 : 0;
    seconds += one.seconds;
  }
  /// The schema has `skipped` for a suite, but not for all suites.
  [[nodiscard]] std::string attributes(bool of_all) const {
    return attribute("tests", std::to_string(tests)) + attribute("failures", std::to_string(failures)) +
           attribute("errors", std::to_string(errors)) + (of_all ? "" : attribute("skipped", std::to_string(skipped))) +
           attribute("time", seconds_text(seconds));
  }
};

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
  Counts all;
  std::string body;
  std::set<std::pair<std::string, std::string>> taken;
  for (const JunitSuite& suite : suites) {
    Counts counts;
    for (const JunitCase& one : suite.cases) {
      counts.add(one);
      all.add(one);
    }
    body += "  <testsuite" + attribute("name", suite.name) + counts.attributes(/*of_all=*/false);
    if (!suite.timestamp.empty()) body += attribute("timestamp", suite.timestamp);
    body += ">\n";
    if (!suite.properties.empty()) {
      body += "    <properties>\n";
      for (const auto& [name, value] : suite.properties)
        body += "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
      body += "    </properties>\n";
    }
    for (const JunitCase& one : suite.cases) body += case_text(one, unique_name(one, taken));
    body += "  </testsuite>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + all.attributes(/*of_all=*/true) + ">\n" + body + "</testsuites>\n";
}

std::string junit_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return {text.data(), size};
}

}  // namespace relayout
