// Sets the help of a command in two columns, and renders the manual's topics for terminals and for man.

#include "cli/common/help.h"

#include <algorithm>

#include "base/text.h"
#include "cli/common/terminal.h"
#include "relayout/version.h"
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
  if (help.empty()) return;
  // Aligns long names in one column, with or without a short name before them.
  std::string left = (names.starts_with("--") ? "    " : "") + std::string(names);
  if (!placeholder.empty()) left += " " + std::string(placeholder);
  groups_.back().entries.push_back({std::move(left), std::string(help)});
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

// Renders the manual's topics, which are written in a part of Markdown, for terminals and for man.
namespace {

/// A part of a topic. Code and tables have their lines, other parts one line of any length.
struct Block {
  enum class Kind { heading, paragraph, item, code, table };
  Kind kind = Kind::paragraph;
  std::vector<std::string> lines;
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Adds a line that is neither code nor blank. `follows`: the line before it was not blank.
void add_line(std::vector<Block>& blocks, std::string_view line, bool follows) {
  using Kind = Block::Kind;
  if (line.starts_with("## ")) {
    blocks.push_back({Kind::heading, {std::string(line.substr(3))}});
  } else if (line.starts_with("- ")) {
    blocks.push_back({Kind::item, {std::string(line.substr(2))}});
  } else if (line.starts_with('|')) {
    if (!follows || blocks.back().kind != Kind::table) blocks.push_back({Kind::table, {}});
    blocks.back().lines.emplace_back(line);
  } else if (follows && (blocks.back().kind == Kind::paragraph || blocks.back().kind == Kind::item)) {
    blocks.back().lines.back() += " " + std::string(trim(line));
  } else {
    blocks.push_back({Kind::paragraph, {std::string(trim(line))}});
  }
}

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> out;
  bool is_code = false, follows = false;
  for (const std::string& line : split(text, '\n')) {
    const bool is_fence = line.starts_with("```");
    if (is_fence) {
      is_code = !is_code;
      if (is_code) out.push_back({Block::Kind::code, {}});
    } else if (is_code) {
      out.back().lines.push_back(line);
    } else if (!line.empty()) {
      add_line(out, line, follows);
    }
    follows = !line.empty() && !is_fence;
  }
  return out;
}

/// A piece of a line in one form.
struct Piece {
  std::string text;
  bool is_strong = false;
};

/// Reads bold, code and links: "`a` **b** [c](d)".
std::vector<Piece> pieces_of(std::string_view line) {
  std::vector<Piece> out{{}};
  bool is_bold = false, is_code = false;
  const auto begin = [&] { out.push_back({{}, is_bold || is_code}); };
  while (!line.empty()) {
    const std::size_t text_end = line.starts_with('[') && !is_code ? line.find("](") : std::string_view::npos;
    const std::size_t link_end = text_end == std::string_view::npos ? text_end : line.find(')', text_end);
    if (line.front() == '`') {
      is_code = !is_code;
      begin();
      line.remove_prefix(1);
    } else if (!is_code && line.starts_with("**")) {
      is_bold = !is_bold;
      begin();
      line.remove_prefix(2);
    } else if (link_end != std::string_view::npos) {
      out.back().text += line.substr(1, text_end - 1);
      line.remove_prefix(link_end + 1);
    } else {
      // "\|" is a bar within a table.
      if (line.starts_with("\\|")) line.remove_prefix(1);
      out.back().text += line.front();
      line.remove_prefix(1);
    }
  }
  return out;
}

std::string plain(std::string_view line) {
  return joined(pieces_of(line), "", &Piece::text);
}

/// The words of a line, as a terminal shows them.
std::vector<std::string> words_of(std::string_view line, bool color) {
  std::vector<std::string> out(1);
  for (const Piece& piece : pieces_of(line)) {
    bool is_first = true;  // it continues the word before it
    for (const std::string& part : split(piece.text, ' ')) {
      if (!std::exchange(is_first, false)) out.emplace_back();
      out.back() += paint(part, piece.is_strong ? Style::strong : Style::plain, color);
    }
  }
  std::erase(out, "");
  return out;
}

/// The cells of a table by row, without the rule below its head.
std::vector<std::vector<std::string>> cells_of(const Block& table) {
  std::vector<std::vector<std::string>> out;
  for (const std::string& line : table.lines) {
    if (line.find_first_not_of("|-: ") == std::string::npos && line.find('-') != std::string::npos) continue;
    std::vector<std::string>& row = out.emplace_back();
    std::size_t begin = 1;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] != '|' || line[i - 1] == '\\') continue;
      row.emplace_back(trim(std::string_view(line).substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  const auto is_blank = [](const std::vector<std::string>& row) { return std::ranges::all_of(row, &std::string::empty); };
  std::erase_if(out, is_blank);
  return out;
}

/// A table in columns where they fit, else each row's first cell with the others below it.
std::string table_text(const Block& block, std::size_t width, bool color) {
  const auto rows = cells_of(block);
  Table table({.indent = 2});
  for (const auto& row : rows) {
    std::vector<Cell> cells;
    for (const std::string& cell : row) cells.emplace_back(plain(cell));
    table.row(std::move(cells));
  }
  std::string columns = table.text({.color = color});
  if (std::ranges::all_of(split(columns, '\n'), [&](const std::string& line) { return display_width(line) <= width; })) return columns;
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t indent = i == 0 ? 2 : 6;
      if (i == 0 || !row[i].empty()) out += std::string(indent, ' ') + wrapped(words_of(row[i], color), indent, width) + "\n";
    }
  }
  return out;
}

std::string block_text(const Block& block, std::size_t width, bool color) {
  switch (block.kind) {
    case Block::Kind::heading:
      return paint(plain(block.lines.front()), Style::strong, color) + "\n";
    case Block::Kind::paragraph:
      return "  " + wrapped(words_of(block.lines.front(), color), 2, width) + "\n";
    case Block::Kind::item:
      return "  - " + wrapped(words_of(block.lines.front(), color), 4, width) + "\n";
    case Block::Kind::table:
      return table_text(block, width, color);
    case Block::Kind::code:
      break;
  }
  std::string out;
  for (const std::string& line : block.lines) out += line.empty() ? "\n" : "    " + line + "\n";
  return out;
}

/// Text in roff: backslashes and hyphens as themselves, and no line begins with a control character.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string roff_line(std::string_view line) {
  std::string out;
  for (const Piece& piece : pieces_of(line)) out += piece.is_strong ? "\\fB" + roff(piece.text) + "\\fR" : roff(piece.text);
  return out + "\n";
}

std::string roff_literal(std::string_view text) {
  return ".nf\n" + roff(text) + ".fi\n";
}

std::string block_roff(const Block& block) {
  switch (block.kind) {
    case Block::Kind::heading:
      return ".SH \"" + roff(plain(block.lines.front())) + "\"\n";
    case Block::Kind::paragraph:
      return ".PP\n" + roff_line(block.lines.front());
    case Block::Kind::item:
      return ".IP \\(bu 2\n" + roff_line(block.lines.front());
    case Block::Kind::code: {
      std::string code;
      for (const std::string& line : block.lines) code += line + "\n";
      return ".PP\n.RS 4\n" + roff_literal(code) + ".RE\n";
    }
    case Block::Kind::table:
      break;
  }
  std::string out;
  for (const auto& row : cells_of(block)) {
    out += ".TP\n" + roff_line(row.front());
    for (std::size_t i = 1; i < row.size(); ++i) out += (i > 1 ? ".br\n" : "") + roff_line(row[i].empty() ? "\\&" : row[i]);
  }
  return out;
}

}  // namespace

const Topic* find_topic(std::string_view name) {
  const auto found = std::ranges::find(topics(), name, &Topic::name);
  return found == topics().end() ? nullptr : &*found;
}

std::string find_section(std::string_view word) {
  constexpr std::string_view kHeading = "\n## ";
  const std::string row = "\n| `" + std::string(word) + "` |";
  for (const Topic& topic : topics()) {
    for (std::size_t begin = topic.text.find(kHeading); begin != std::string_view::npos;) {
      const std::size_t end = topic.text.find(kHeading, begin + 1);
      const std::string_view section = topic.text.substr(begin + 1, end == std::string_view::npos ? end : end - begin);
      const std::string_view heading = section.substr(3, section.find('\n') - 3);
      if (ascii_lower(heading) == ascii_lower(word) || section.find(row) != std::string_view::npos) return std::string(section);
      begin = end;
    }
  }
  return {};
}

std::string manual_text(std::string_view text, std::size_t width, bool color) {
  std::string out;
  Block::Kind before = Block::Kind::heading;
  for (const Block& block : blocks_of(text)) {
    const std::string made = block_text(block, width, color);
    const bool is_next_item = block.kind == Block::Kind::item && before == Block::Kind::item;
    const bool is_short = std::ranges::count(made, '\n') == 1;
    if (!out.empty() && before != Block::Kind::heading && !(is_next_item && is_short)) out += "\n";
    out += made;
    before = block.kind;
  }
  return out;
}

std::string man_page(const ManPage& page) {
  std::string title = page.name;
  std::ranges::transform(title, title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  std::string out = ".TH \"" + title + "\" " + std::to_string(page.section) + " \"\" \"relayout " + kVersion + "\" \"" +
                    (page.section == 1 ? "User Commands" : "relayout Manual") + "\"\n.SH NAME\n" + roff(page.name) + " \\- " +
                    roff(page.summary) + "\n";
  if (!page.usage.empty()) out += ".SH SYNOPSIS\n" + roff_literal(page.usage);
  if (!page.text.empty()) out += ".SH DESCRIPTION\n";
  for (const Block& block : blocks_of(page.text)) out += block_roff(block);
  return out;
}

}  // namespace relayout::cli
