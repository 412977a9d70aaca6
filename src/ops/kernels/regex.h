#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout {

/// Code points of a UTF-8 string. An invalid byte becomes 0xDC00 plus the byte, which encode_utf8() turns back.
[[nodiscard]] std::u32string decode_utf8(std::string_view text);
[[nodiscard]] std::string encode_utf8(std::u32string_view points);

/// Unicode's simple case mapping, independent of the locale of the process.
[[nodiscard]] char32_t to_lower(char32_t point);
[[nodiscard]] char32_t to_upper(char32_t point);

/// One part of a regular expression.
struct RegexNode {
  enum class Kind : uint8_t {
    empty,
    range,        ///< one code point out of `ranges`
    assertion,    ///< `assertion`: ^ $ of the text, m n of a line, b B of words
    sequence,     ///< of `parts`
    alternative,  ///< between `parts`
    repeat,       ///< of parts[0], `least` to `most` times
  };
  static constexpr int kUnbounded = -1;
  Kind kind = Kind::empty;
  char assertion = 0;
  std::vector<std::pair<char32_t, char32_t>> ranges;  ///< sorted and disjoint
  std::vector<RegexNode> parts;
  int least = 0, most = kUnbounded;
};

/// Error{invalid} with the position of a syntax error; Error{unsupported} for Unicode classes.
[[nodiscard]] RegexNode parse_regex(std::string_view pattern);

/// A regular expression in RE2's syntax (https://github.com/google/re2/wiki/Syntax) over Unicode code points, run as a set of states: time
/// is at most the product of the lengths of text and expression.
///
/// ONNX defines RegexFullMatch by RE2. Debian 13's libre2 11 would slow every start for this one operator. Linked statically with Abseil,
/// it adds 820 kB to the program (this code: 45 kB) and 1.2 ms to its start. As a shared library it loads 35 more and adds 4 ms (user and
/// system time of 300 starts each, 2 cores). This code lacks Unicode classes.
class Regex {
 public:
  /// Error{invalid} for a pattern that is not an expression, Error{unsupported} for Unicode classes (\p{…}) and expressions that grow too
  /// large.
  explicit Regex(std::string_view pattern);
  /// Whether the whole text matches.
  [[nodiscard]] bool matches_all(std::string_view text) const;

 private:
  friend class RegexCompiler;
  using Ranges = std::vector<std::pair<char32_t, char32_t>>;  ///< sorted and disjoint
  struct State {
    enum class Kind : uint8_t { range, split, assertion, match };
    Kind kind = Kind::match;
    char assertion = 0;      ///< ^ $ m(begin of line) n(end of line) b B
    std::size_t ranges = 0;  ///< index into the expression's ranges
    std::size_t next = 0, other = 0;
  };
  class Threads;
  [[nodiscard]] static bool holds(char assertion, std::u32string_view text, std::size_t position);
  void add(std::size_t state, std::u32string_view text, std::size_t position, Threads& threads) const;
  std::vector<State> states_;
  std::vector<Ranges> ranges_;
  std::size_t start_ = 0;
};

}  // namespace relayout
