// Fits text to the width of a terminal: measures it, breaks lines, and shortens names of one table to different forms.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "report/table.h"

namespace relayout {

namespace {

constexpr std::string_view kClause = " · ";

/// Length of the SGR sequence at `text[0]`; 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string without_sequences(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) out += text.front();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  return display_width(text.find('\x1b') == std::string_view::npos ? std::string(text) : without_sequences(text));
}

/// A shortened word with its colours.
std::string shortened_word(std::string_view word, std::size_t width) {
  std::string before, after;
  while (const std::size_t length = sequence_length(word)) {
    before += word.substr(0, length);
    word.remove_prefix(length);
  }
  if (const std::size_t sequence = word.find('\x1b'); sequence != std::string_view::npos) {
    after = word.substr(sequence);
    word = word.substr(0, sequence);
  }
  return before + shortened(word, width) + after;
}

/// A piece that is not broken unless it is longer than a line, and the text between it and the previous piece.
struct Segment {
  std::string gap;
  std::string_view text;
};

std::vector<Segment> segments_of(std::string_view line) {
  std::vector<Segment> out;
  std::string gap;
  while (!line.empty()) {
    const std::size_t blanks = line.find("  "), clause = line.find(kClause);
    const std::size_t end = std::min(blanks, clause);
    out.push_back({gap, line.substr(0, end)});
    if (end == std::string_view::npos) break;
    line.remove_prefix(end);
    const std::size_t length = end == clause ? kClause.size() : line.find_first_not_of(' ');
    gap = line.substr(0, length);
    line.remove_prefix(std::min(length, line.size()));
  }
  return out;
}

/// Breaks one line into several.
class Breaker {
 public:
  Breaker(std::size_t width, std::size_t indent) : width_(width), next_indent_(std::min(indent + 4, width / 2)), at_(indent) {
    out_ = std::string(indent, ' ');
  }

  void add(const Segment& segment) {
    const std::size_t width = width_of(segment.text);
    if (try_put(segment.gap, segment.text, width)) return;
    if (next_indent_ + width <= width_) {
      new_line();
      (void)try_put("", segment.text, width);
    } else {
      add_words(segment);
    }
  }
  [[nodiscard]] std::string text() const { return out_; }

 private:
  void add_words(const Segment& segment) {
    std::string_view rest = segment.text;
    std::string gap = segment.gap;
    while (!rest.empty()) {
      const std::size_t space = rest.find(' ');
      const std::string_view word = rest.substr(0, space);
      rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
      if (!try_put(gap, word, width_of(word))) {
        if (is_begun_) new_line();
        const std::string cut = width_of(word) > width_ - at_ ? shortened_word(word, width_ - at_) : std::string(word);
        (void)try_put("", cut, width_of(cut));
      }
      gap = " ";
    }
  }
  bool try_put(std::string_view gap, std::string_view text, std::size_t width) {
    const std::size_t before = is_begun_ ? width_of(gap) : 0;
    if (at_ + before + width > width_) return false;
    if (is_begun_) out_ += gap;
    out_ += text;
    at_ += before + width;
    is_begun_ = is_begun_ || width > 0;
    return true;
  }
  void new_line() {
    out_ += "\n" + std::string(next_indent_, ' ');
    at_ = next_indent_;
    is_begun_ = false;
  }

  std::size_t width_, next_indent_, at_;
  bool is_begun_ = false;  ///< the current line has more than its indent
  std::string out_;
};

/// Removes the leading blanks of a line, before and after its first colour, and returns their number.
std::size_t take_indent(std::string& line) {
  std::size_t at = 0, blanks = 0;
  while (at < line.size()) {
    const std::size_t sequence = sequence_length(std::string_view(line).substr(at));
    if (sequence == 0 && line[at] != ' ') break;
    if (sequence == 0) {
      line.erase(at, 1);
      ++blanks;
    }
    at += sequence;
  }
  return blanks;
}

std::string fit_line(std::string_view line, std::size_t width) {
  if (width_of(line) <= width) return std::string(line);
  std::string rest(line);
  const std::size_t indent = std::min(take_indent(rest), width / 2);
  Breaker breaker(width, indent);
  for (const Segment& segment : segments_of(rest)) breaker.add(segment);
  return breaker.text();
}

}  // namespace

std::string fit_lines(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += fit_line(text.substr(0, end), width);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t at = indent;
  for (const std::string& word : words) {
    const std::size_t columns = width_of(word);
    if (at > indent && at + 1 + columns > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += columns;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.emplace_back(text);
  return out;
}

// Width of text in columns of a terminal.
namespace {

bool is_combining(char32_t point) {
  return (point >= 0x300 && point <= 0x36F) || (point >= 0x200B && point <= 0x200F) || (point >= 0x20D0 && point <= 0x20F0) ||
         (point >= 0xFE00 && point <= 0xFE0F);
}

/// Whether Unicode defines the character as wide: East Asian wide and fullwidth blocks, emoji.
bool is_wide(char32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF && point != 0x303F) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) || (point >= 0xFE30 && point <= 0xFE6F) ||
         (point >= 0xFF00 && point <= 0xFF60) || (point >= 0xFFE0 && point <= 0xFFE6) || (point >= 0x1F300 && point <= 0x1F64F) ||
         (point >= 0x1F900 && point <= 0x1F9FF) || (point >= 0x20000 && point <= 0x3FFFD);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (measures_ascii()) return ascii_text(text).size();
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (length == 0 || !is_combining(code)) width += is_wide(code) ? 2 : 1;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return width;
}

// Names shortened to the width of a column.
namespace {

constexpr std::string_view kCut = "…";

/// Columns of `width` that remain after `cuts` cuts and `others` other columns; 0 if there are none.
std::size_t columns_left(std::size_t width, std::size_t cuts, std::size_t others) {
  const std::size_t taken = cuts * display_width(kCut) + others;
  return width > taken ? width - taken : 0;
}

/// The first or last `count` columns of a name.
std::string part(std::string_view name, std::size_t count, bool is_last) {
  std::vector<std::string_view> characters;
  while (!name.empty()) {
    const std::size_t length = std::max<std::size_t>(first_character(name).length, 1);
    characters.push_back(name.substr(0, length));
    name.remove_prefix(length);
  }
  if (is_last) std::ranges::reverse(characters);
  std::string out;
  std::size_t width = 0;
  for (const std::string_view character : characters) {
    width += display_width(character);
    if (width > count) break;
    out.insert(is_last ? 0 : out.size(), character);
  }
  return out;
}

/// A name as its first `before` columns and its end.
std::string cut_once(std::string_view name, std::size_t width, std::size_t before) {
  return part(name, before, false) + std::string(kCut) + part(name, columns_left(width, 1, before), true);
}

/// A name as `middle` columns starting at byte `at`, and its end.
std::string cut_twice(std::string_view name, std::size_t width, std::size_t at, std::size_t middle) {
  return std::string(kCut) + part(name.substr(at), middle, false) + std::string(kCut) + part(name, columns_left(width, 2, middle), true);
}

/// Length in bytes of the common prefix of all names, in whole characters.
std::size_t common_prefix(const std::vector<std::string_view>& names) {
  std::size_t length = names.front().size();
  for (const std::string_view name : names) {
    const auto end = std::ranges::mismatch(names.front().substr(0, length), name).in1;
    length = static_cast<std::size_t>(end - names.front().begin());
  }
  const auto is_inside = [&](std::size_t at) {
    return at < names.front().size() && (static_cast<unsigned char>(names.front()[at]) & 0xC0U) == 0x80U;
  };
  while (length > 0 && is_inside(length)) --length;
  return length;
}

/// The beginning of the word that ends before `at`, or of its last 8 characters: "nseblock" in "/features/denseblock3".
std::size_t word_begin(std::string_view name, std::size_t at) {
  constexpr std::size_t kLongest = 8;
  const auto is_part = [&](std::size_t i) { return name[i] != '/' && name[i] != '.' && static_cast<unsigned char>(name[i]) < 0x80U; };
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongest && is_part(begin - 1)) --begin;
  return begin;
}

/// Different forms for names that are equal when shortened; they differ from those `taken`, too.
std::vector<std::string> forms_apart(const std::vector<std::string_view>& names, std::size_t width,
                                     const std::unordered_set<std::string>& taken) {
  std::vector<std::string> out;
  const auto try_all = [&](const auto& form) {
    std::unordered_set<std::string> seen;
    out.clear();
    for (const std::string_view name : names) out.push_back(form(name));
    return std::ranges::all_of(out, [&](const std::string& one) { return !taken.contains(one) && seen.insert(one).second; });
  };
  for (std::size_t before = (width - 1) / 2 + 1; before-- > 0;) {
    if (try_all([&](std::string_view name) { return cut_once(name, width, before); })) return out;
  }
  const std::size_t differ = common_prefix(names);
  for (std::size_t at = word_begin(names.front(), differ); at <= differ; ++at) {
    for (std::size_t middle = differ - at + 1; middle + 2 <= width; ++middle) {
      if (try_all([&](std::string_view name) { return cut_twice(name, width, at, middle); })) return out;
    }
  }
  out.clear();
  for (std::size_t number = 1; out.size() < names.size(); ++number) {
    const std::string mark = "#" + std::to_string(number);
    const std::string form = shortened(names[out.size()], width - std::min(width, mark.size())) + mark;
    if (!taken.contains(form)) out.push_back(form);
  }
  return out;
}

}  // namespace

std::string shortened(std::string_view name, std::size_t width) {
  if (display_width(name) <= width) return std::string(name);
  if (width < 2) return std::string(kCut);
  // The end distinguishes names better than the beginning, and gets the larger half.
  return cut_once(name, width, (width - 1) / 2);
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width) {
  std::unordered_map<std::string_view, std::string> forms;
  std::map<std::string, std::vector<std::string_view>> alike;
  for (const std::string& name : names) {
    if (const auto [form, is_new] = forms.try_emplace(name, shortened(name, width)); is_new) alike[form->second].push_back(name);
  }
  std::unordered_set<std::string> taken;
  for (const auto& [form, group] : alike) {
    if (group.size() == 1) taken.insert(form);
  }
  for (const auto& [form, group] : alike) {
    if (group.size() == 1) continue;
    const std::vector<std::string> apart = forms_apart(group, width, taken);
    for (std::size_t i = 0; i < group.size(); ++i) forms[group[i]] = apart[i];
    taken.insert(apart.begin(), apart.end());
  }
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(forms.at(name));
  return out;
}

}  // namespace relayout
