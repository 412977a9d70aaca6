// Summarizes test suites for CI services.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "report/junit.h"
#include "report/page.h"

namespace relayout {
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
    if (c == '|' || c == '`' || c == '\\' || c == '*' || c == '_' || c == '[' || c == '~') {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "</code>";
}

std::string word_of(const JunitSuite& suite) {
  const auto has = [&](Status status) { return std::ranges::find(suite.cases, status, &JunitCase::status) != suite.cases.end(); };
  if (has(Status::error)) return "❌ error";
  if (has(Status::failed)) return "❌ failed";
  return has(Status::skipped) ? "⚠️ not all tested" : "✅ passed";
}

std::string duration_text(const JunitSuite& suite) {
  double seconds = 0;
  for (const JunitCase& one : suite.cases) seconds += one.seconds;
  return fixed(seconds, 1) + " s";
}

std::string row(const JunitSuite& suite) {
  const auto good = std::ranges::count(suite.cases, Status::passed, &JunitCase::status);
  const auto bad = std::ranges::find_if(suite.cases, is_bad);
  return "| " + word_of(suite) + " | " + code(suite.name) + " | " + format_count(good) + " of " +
         format_count(static_cast<int64_t>(suite.cases.size())) + " | " + (bad == suite.cases.end() ? "" : code(bad->message)) + " | " +
         duration_text(suite) + " |\n";
}

std::string failures(const JunitSuite& suite) {
  std::string out;
  std::size_t listed = 0, more = 0;
  for (const JunitCase& one : suite.cases) {
    if (!is_bad(one)) continue;
    if (listed == kMostListed) {
      ++more;
      continue;
    }
    ++listed;
    out += "- " + code(one.name) + " " + code(one.message) + (one.details.empty() ? "" : "<br>" + code(one.details)) + "\n";
  }
  if (out.empty()) return out;
  if (more > 0) out += "- and " + format_count(static_cast<int64_t>(more)) + " more\n";
  return "\n**" + code(suite.name) + "**\n\n" + out;
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

/// The annotation of one file: its first case, and the first details of any of its cases.
struct Annotation {
  std::string file;
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
        out.push_back({one.file, &one, one.details});
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
    out.append("::").append(level).append(" ").append(file).append("title=relayout verify::");
    out.append(command_text(printable_markup(message), false)).append("\n");
  }
  return out;
}

}  // namespace

std::string markdown_text(const std::vector<JunitSuite>& suites) {
  std::string out = "### relayout verify\n\n| | suite | cases | first finding | time |\n|---|---|---|---|---|\n";
  for (const JunitSuite& suite : suites) out += row(suite);
  for (const JunitSuite& suite : suites) out += failures(suite);
  return out;
}

std::string github_annotations(const std::vector<JunitSuite>& suites) {
  return commands("error", annotations(suites, is_bad)) +
         commands("warning", annotations(suites, [](const JunitCase& one) { return one.status == Status::skipped; }));
}

}  // namespace relayout
