// Sets the help of a command in two columns that fit the terminal.
#include "cli/common/help.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/positions.h"
#include "cli/common/terminal.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::size_t kHelpColumn = 28;  ///< first column of explanations

/// Width in columns of UTF-8 text without wide characters.
std::size_t columns(std::string_view text) {
  return as_size(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// `text` broken at spaces, with all lines but the first indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t at = indent;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    if (at > indent && at + 1 + columns(word) > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    }
    if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += columns(word);
  }
  return out;
}

/// Puts `prefix` before every line.
std::string prefixed(std::string_view lines, std::string_view prefix, std::size_t width) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    out += fit_lines(std::string(prefix) + std::string(lines.substr(0, end)), width) + "\n";
    lines = end == std::string_view::npos ? std::string_view{} : lines.substr(end + 1);
  }
  return out;
}

}  // namespace

std::size_t help_width() {
  return text_width(kHelpWidth);
}

std::string explained(std::string_view word, std::string_view meaning, std::size_t all) {
  const std::size_t column = all > 0 && all < 70 ? 8 : kHelpColumn, width = columns(word);
  std::string out(word);
  out += width + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - width, ' ');
  return out + (all == 0 ? std::string(meaning) : wrapped(meaning, column, all)) + "\n";
}

HelpText::HelpText(std::string_view command, std::string_view summary, std::string_view synopsis, std::string_view examples)
    : command_(command), summary_(summary), synopsis_(synopsis), examples_(examples), groups_{{"Options", {}}} {}

void HelpText::begin_group(std::string_view title) {
  groups_.push_back({std::string(title), {}});
}

void HelpText::add(std::string_view names, std::string_view placeholder, std::string_view help) {
  // Aligns long names in one column, with or without a short name before them.
  std::string left = (names.starts_with("--") ? "    " : "") + std::string(names);
  if (!placeholder.empty()) left += " " + std::string(placeholder);
  groups_.back().entries.push_back({std::move(left), std::string(help)});
}

void HelpText::hide_last() {
  groups_.back().entries.pop_back();
}

std::string HelpText::to_text(std::size_t all) const {
  std::string out =
      wrapped("relayout " + command_ + ": " + summary_, 0, all) + "\n\nUsage:\n" + prefixed(synopsis_, "  relayout " + command_ + " ", all);
  for (const Group& group : groups_) {
    if (group.entries.empty()) continue;
    out += "\n" + group.title + ":\n";
    for (const Entry& entry : group.entries) out += explained("  " + entry.left, entry.help, all);
  }
  if (!examples_.empty()) out += "\nExamples:\n" + prefixed(examples_, "  ", all);
  return out;
}

}  // namespace relayout::cli
