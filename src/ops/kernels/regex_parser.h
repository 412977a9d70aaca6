#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout {

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

}  // namespace relayout
