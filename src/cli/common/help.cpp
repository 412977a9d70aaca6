// Sets the help of a command in two columns that fit the terminal.
#include "cli/common/help.h"

#include "cli/common/terminal.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::size_t kHelpColumn = 28;  ///< first column of explanations

/// Puts `prefix` before every line.
std::string prefixed(std::string_view lines, const std::string& prefix, std::size_t width) {
  return joined(split(lines, '\n'), "", [&](const std::string& line) { return fit_lines(prefix + line, width) + "\n"; });
}

}  // namespace

std::size_t help_width() {
  return text_width(kHelpWidth);
}

std::string explained(std::string_view word, std::string_view meaning, std::size_t all) {
  const std::size_t column = all > 0 && all < 70 ? 8 : kHelpColumn, width = display_width(word);
  std::string out(word);
  out += width + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - width, ' ');
  return out + (all == 0 ? std::string(meaning) : wrapped(split(meaning, ' '), column, all)) + "\n";
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
  std::string out = wrapped(split("relayout " + command_ + ": " + summary_, ' '), 0, all) + "\n\nUsage:\n" +
                    prefixed(synopsis_, "  relayout " + command_ + " ", all);
  for (const Group& group : groups_) {
    if (group.entries.empty()) continue;
    out += "\n" + group.title + ":\n";
    for (const Entry& entry : group.entries) out += explained("  " + entry.left, entry.help, all);
  }
  if (!examples_.empty()) out += "\nExamples:\n" + prefixed(examples_, "  ", all);
  return out;
}

}  // namespace relayout::cli
