// Reads configuration files: the part of TOML that options need, so strictly that a mistake is named with its line and never taken for
// something else.
#include "cli/config_file.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

/// A decimal number as TOML writes it, without the sign '+' and the underscores that from_chars does not take; empty for everything else.
std::string decimal_number(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  const auto take = [&](char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  const auto take_digits = [&] {
    const std::size_t begin = out.size();
    while (at < text.size() && is_digit(text[at])) {
      out += text[at++];
      if (at + 1 < text.size() && text[at] == '_' && is_digit(text[at + 1])) ++at;
    }
    return out.size() - begin;
  };
  if (take('-')) {
    out += '-';
  } else {
    (void)take('+');
  }
  const bool leads_with_zero = at < text.size() && text[at] == '0';
  const std::size_t whole = take_digits();
  if (whole == 0 || (leads_with_zero && whole > 1)) return {};
  if (take('.')) {
    out += '.';
    if (take_digits() == 0) return {};
  }
  if (take('e') || take('E')) {
    out += 'e';
    if (take('-')) {
      out += '-';
    } else {
      (void)take('+');
    }
    if (take_digits() == 0) return {};
  }
  return at == text.size() ? out : std::string();
}

/// UTF-8 of a code point that is none of a surrogate pair; empty for everything else.
std::string utf8_of(uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code >= 0xD800 && code < 0xE000) return {};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  if (code < 0x110000) return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
  return {};
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& path, std::span<const std::string> commands)
      : text_(text), path_(escape(path)), commands_(commands) {}

  std::vector<ConfigEntry> read() {
    while (true) {
      skip_lines();
      if (is_at_end()) return std::move(entries_);
      if (next() == '[') {
        read_section();
      } else {
        read_entry();
      }
      expect_end_of_line();
    }
  }

 private:
  [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }
  /// '\0' at the end, which no text may hold.
  [[nodiscard]] char next() const { return is_at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] bool is_at_newline() const { return next() == '\n' || text_.substr(at_).starts_with("\r\n"); }
  [[nodiscard]] std::string place() const { return path_ + ":" + std::to_string(line_); }
  [[noreturn]] void refuse(const std::string& message) const { fail(ErrorKind::usage, place() + ": " + message); }

  /// What is left of the line, for messages.
  [[nodiscard]] std::string rest() const {
    std::string_view out = text_.substr(at_, text_.substr(at_).find('\n'));
    while (out.ends_with('\r') || out.ends_with(' ') || out.ends_with('\t')) out.remove_suffix(1);
    return quote(out);
  }

  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (take(' ') || take('\t')) continue;
  }

  /// Blanks and a comment.
  void skip_to_end_of_line() {
    skip_blanks();
    if (next() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }

  bool take_newline() {
    if (!is_at_newline()) return false;
    at_ += next() == '\n' ? 1 : 2;
    ++line_;
    return true;
  }

  /// Everything up to what counts.
  void skip_lines() {
    do skip_to_end_of_line();
    while (take_newline());
  }

  void expect_end_of_line() {
    skip_to_end_of_line();
    if (!is_at_end() && !is_at_newline()) refuse("not TOML: " + rest() + " stands behind what is complete");
  }

  std::string read_bare() {
    const std::size_t begin = at_;
    while (is_bare(next())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string read_key(const char* what) {
    const bool is_quoted = next() == '"' || next() == '\'';
    std::string key = is_quoted ? read_string() : read_bare();
    if (key.empty()) refuse("not TOML: " + std::string(what) + " is expected where " + rest() + " stands");
    skip_blanks();
    if (next() == '.') refuse("names of options and commands have no parts: " + quote(key + "…"));
    return key;
  }

  void read_section() {
    (void)take('[');
    if (next() == '[') refuse("a command has one section: [" + (commands_.empty() ? "COMMAND" : commands_.front()) + "]");
    skip_blanks();
    section_ = read_key("the name of a command");
    if (!take(']')) refuse("not TOML: ']' is missing behind " + quote(section_));
    if (std::ranges::find(commands_, section_) == commands_.end()) {
      const std::vector<std::string_view> known(commands_.begin(), commands_.end());
      const std::string_view nearest = nearest_word(section_, known);
      refuse("unknown section " + quote(section_) +
             (nearest.empty() ? ": sections are named after commands" : "; did you mean " + quote(nearest) + "?"));
    }
    if (std::ranges::find(sections_, section_) != sections_.end()) refuse("section " + quote(section_) + " is there more than once");
    sections_.push_back(section_);
  }

  void read_entry() {
    ConfigEntry entry{.section = section_, .key = read_key("the name of an option"), .place = place()};
    if (!take('=')) refuse("not TOML: '=' is missing behind " + quote(entry.key));
    const auto is_it = [&](const ConfigEntry& other) { return other.section == entry.section && other.key == entry.key; };
    if (std::ranges::any_of(entries_, is_it))
      refuse(quote(entry.key) + " is there more than once; several values are an array: [\"A\", \"B\"]");
    skip_blanks();
    if (take('[')) {
      entry.kind = ConfigEntry::Kind::array;
      read_array(entry.values);
    } else {
      entry.values.push_back(read_value(entry.kind));
    }
    entries_.push_back(std::move(entry));
  }

  void read_array(std::vector<std::string>& values) {
    while (true) {
      skip_lines();
      if (take(']')) return;
      ConfigEntry::Kind kind{};
      values.push_back(read_value(kind));
      skip_lines();
      if (take(',')) continue;
      if (take(']')) return;
      refuse("not TOML: ',' or ']' is missing" + (is_at_end() ? std::string(" at the end") : " before " + rest()));
    }
  }

  std::string read_value(ConfigEntry::Kind& kind) {
    if (next() == '"' || next() == '\'') return read_string();
    const std::size_t begin = at_;
    while (is_bare(next()) || next() == '+' || next() == '.') ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) refuse(is_at_end() || is_at_newline() ? "not TOML: a value is missing" : "not TOML: " + rest() + " is no value");
    if (word == "true" || word == "false") {
      kind = ConfigEntry::Kind::boolean;
      return word;
    }
    std::string number = decimal_number(word);
    if (number.empty())
      refuse("not TOML: " + quote(word) + " is neither a decimal number, true nor false; text stands in quotes: \"" + escape(word) + "\"");
    return number;
  }

  /// In double quotes with escapes, in single ones as it stands.
  std::string read_string() {
    const char mark = text_[at_++];
    std::string out;
    while (!take(mark)) {
      const auto c = static_cast<unsigned char>(next());
      if (is_at_end() || is_at_newline()) refuse("not TOML: the text lacks its closing " + std::string(1, mark));
      if ((c < 0x20 && c != '\t') || c == 0x7F) refuse("not TOML: a control character in a text");
      ++at_;
      if (mark == '"' && c == '\\') {
        out += read_escape();
      } else {
        out += static_cast<char>(c);
      }
    }
    if (out.empty() && next() == mark) refuse("a text of several lines is no value of an option");
    return out;
  }

  std::string read_escape() {
    constexpr std::string_view kLetters = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    const char letter = next();
    if (is_at_end() || is_at_newline()) refuse("not TOML: the text lacks its closing \"");
    ++at_;
    if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) return {kMeanings[known]};
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    uint32_t code = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
    const bool is_whole = digits > 0 && text.size() == digits && error == std::errc{} && end == text.data() + text.size();
    const std::string out = is_whole ? utf8_of(code) : std::string();
    if (out.empty()) refuse("not TOML: unknown escape " + quote(std::string{'\\', letter}));
    at_ += digits;
    return out;
  }

  std::string_view text_;
  std::string path_;
  std::span<const std::string> commands_;
  std::size_t at_ = 0;
  int64_t line_ = 1;
  std::string section_;
  std::vector<std::string> sections_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& path, std::span<const std::string> commands) {
  return Reader(text, path, commands).read();
}

}  // namespace relayout::cli
