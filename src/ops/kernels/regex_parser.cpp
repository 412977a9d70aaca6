// Parses regular expressions in RE2's syntax, and says where one is wrong.

#include <algorithm>

#include "base/text.h"
#include "ops/kernels/regex.h"
#include "relayout/error.h"

namespace relayout {
namespace {

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

constexpr char32_t kLast = 0x10FFFF;
constexpr int kMostLevels = 200;
constexpr int kMostRepeats = 1000;  // as in RE2

Ranges sorted(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges out;
  for (const auto& [first, last] : ranges) {
    if (!out.empty() && first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, last);
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

Ranges complement(const Ranges& ranges) {
  Ranges out;
  char32_t next = 0;
  for (const auto& [first, last] : sorted(ranges)) {
    if (first > next) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLast) out.emplace_back(next, kLast);
  return out;
}

/// \d \s \w and their opposites, which are ASCII in RE2.
std::optional<Ranges> perl_class(char32_t letter) {
  switch (letter) {
    case 'd':
      return Ranges{{'0', '9'}};
    case 's':
      return Ranges{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    case 'w':
      return Ranges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 'D':
    case 'S':
    case 'W':
      return complement(*perl_class(letter + ('a' - 'A')));
    default:
      return std::nullopt;
  }
}

struct NamedClass {
  std::u32string_view name;
  Ranges ranges;
};

const std::vector<NamedClass>& posix_classes() {
  static const std::vector<NamedClass> classes = {
      {U"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {U"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {U"ascii", {{0, 0x7F}}},
      {U"blank", {{'\t', '\t'}, {' ', ' '}}},
      {U"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
      {U"digit", {{'0', '9'}}},
      {U"graph", {{'!', '~'}}},
      {U"lower", {{'a', 'z'}}},
      {U"print", {{' ', '~'}}},
      {U"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {U"space", {{'\t', '\r'}, {' ', ' '}}},
      {U"upper", {{'A', 'Z'}}},
      {U"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {U"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return classes;
}

/// The text of a regular expression, read from left to right.
class Pattern {
 public:
  explicit Pattern(std::string_view pattern) : pattern_(pattern), text_(decode_utf8(pattern)) {}

  [[noreturn]] void reject(const std::string& what) const {
    fail(ErrorKind::invalid, "regular expression " + quote(pattern_) + ": " + what + " at position " + std::to_string(at_));
  }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char32_t peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  [[nodiscard]] bool looking_at(std::u32string_view word) const { return text_.compare(at_, word.size(), word) == 0; }
  bool take(std::u32string_view word) {
    if (!looking_at(word)) return false;
    at_ += word.size();
    return true;
  }
  char32_t next(const char* wanted) {
    if (at_end()) reject(std::string("missing ") + wanted);
    return text_[at_++];
  }

  /// A number, at most kMostRepeats + 1; nothing where there is none.
  std::optional<int> count() {
    std::optional<int> out;
    while (peek() >= '0' && peek() <= '9') {
      out = std::min(out.value_or(0) * 10 + static_cast<int>(peek() - '0'), kMostRepeats + 1);
      ++at_;
    }
    return out;
  }
  char32_t get() { return text_[at_++]; }
  [[nodiscard]] std::u32string_view rest() const { return std::u32string_view(text_).substr(at_); }
  [[nodiscard]] std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }
  void skip(std::size_t count) { at_ += count; }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::unsupported, "regular expression " + quote(pattern_) + ": " + what);
  }

 private:
  std::string_view pattern_;
  std::u32string text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : in_(pattern) {}

  RegexNode run() {
    RegexNode out = alternatives();
    if (!in_.at_end()) in_.reject("a ) too many");
    return out;
  }

 private:
  struct Flags {
    bool ignores_case = false, multi_line = false, dot_takes_newline = false, is_lazy = false;
  };

  RegexNode alternatives() {
    if (++level_ > kMostLevels) in_.reject("groups nested too deep");
    RegexNode out;
    out.kind = RegexNode::Kind::alternative;
    do out.parts.push_back(sequence());
    while (in_.take(U"|"));
    --level_;
    return out.parts.size() == 1 ? std::move(out.parts.front()) : out;
  }

  RegexNode sequence() {
    RegexNode out;
    out.kind = RegexNode::Kind::sequence;
    while (!in_.at_end() && in_.peek() != '|' && in_.peek() != ')') {
      if (in_.take(U"\\Q")) {
        add_quoted(out);
        continue;
      }
      std::optional<RegexNode> part = atom();
      if (part) out.parts.push_back(repeated(std::move(*part)));
    }
    return out;
  }

  /// Everything up to \E is literal; a repetition applies to the last code point.
  void add_quoted(RegexNode& out) {
    std::optional<RegexNode> last;
    while (!in_.at_end() && !in_.take(U"\\E")) {
      if (last) out.parts.push_back(std::move(*last));
      last = literal(in_.get());
    }
    if (last) out.parts.push_back(repeated(std::move(*last)));
  }

  /// One part, or nothing for a group that only sets flags.
  std::optional<RegexNode> atom() {
    const char32_t c = in_.get();
    switch (c) {
      case '(':
        return group();
      case '[':
        return ranges(bracket_class());
      case '.':
        return ranges(flags_.dot_takes_newline ? Ranges{{0, kLast}} : complement({{'\n', '\n'}}));
      case '^':
        return assertion(flags_.multi_line ? 'm' : '^');
      case '$':
        return assertion(flags_.multi_line ? 'n' : '$');
      case '\\':
        return escaped();
      case '*':
      case '+':
      case '?':
        in_.go_to(in_.place() - 1);
        in_.reject("nothing to repeat");
      default:
        return literal(c);
    }
  }

  std::optional<RegexNode> group() {
    const Flags outer = flags_;
    if (in_.take(U"?")) {
      if (in_.take(U"P<") || (in_.peek() == '<' && in_.peek(1) != '=' && in_.peek(1) != '!' && in_.take(U"<"))) {
        while (in_.next("the > of a name") != '>') {
        }
      } else if (set_flags()) {
        return std::nullopt;  // until the end of the enclosing group
      }
    }
    RegexNode out = alternatives();
    if (in_.next("a )") != ')') in_.reject("missing a )");
    flags_ = outer;
    return out;
  }

  /// Flags after "(?". True when they end with ), false with :.
  bool set_flags() {
    bool value = true;
    while (true) {
      switch (in_.next("the end of flags")) {
        case 'i':
          flags_.ignores_case = value;
          break;
        case 'm':
          flags_.multi_line = value;
          break;
        case 's':
          flags_.dot_takes_newline = value;
          break;
        case 'U':
          flags_.is_lazy = value;  // the matcher needs no preference among matches
          break;
        case '-':
          value = false;
          break;
        case ':':
          return false;
        case ')':
          return true;
        default:
          in_.reject("an unknown kind of group");
      }
    }
  }

  RegexNode repeated(RegexNode part) {
    while (true) {
      int least = 0, most = RegexNode::kUnbounded;
      if (in_.take(U"*")) {
      } else if (in_.take(U"+")) {
        least = 1;
      } else if (in_.take(U"?")) {
        most = 1;
      } else if (!take_counts(least, most)) {
        return part;
      }
      (void)in_.take(U"?");  // lazy: matches the same texts
      RegexNode out;
      out.kind = RegexNode::Kind::repeat;
      out.least = least;
      out.most = most;
      if (++level_ > kMostLevels) in_.reject("repetitions nested too deep");
      out.parts.push_back(std::move(part));
      part = std::move(out);
    }
  }

  /// Parses {n}, {n,} or {n,m}; anything else is literal.
  bool take_counts(int& least, int& most) {
    const std::size_t start = in_.place();
    if (!in_.take(U"{")) return false;
    const std::optional<int> first = in_.count();
    std::optional<int> second = first;
    if (first && in_.take(U",")) {
      second = in_.peek() == '}' ? std::optional(RegexNode::kUnbounded) : in_.count();
    }
    if (!first || !second || !in_.take(U"}")) {
      in_.go_to(start);
      return false;
    }
    if (*first > kMostRepeats || *second > kMostRepeats || (*second >= 0 && *second < *first)) in_.reject("a bad number of repetitions");
    least = *first;
    most = *second;
    return true;
  }

  RegexNode escaped() {
    const char32_t c = in_.peek();
    if (c == 'A' || c == 'z' || c == 'b' || c == 'B') {
      in_.skip(1);
      return assertion(c == 'A' ? '^' : c == 'z' ? '$' : static_cast<char>(c));
    }
    if (const auto perl = perl_class(c)) {
      in_.skip(1);
      return ranges(*perl);
    }
    return literal(escaped_point());
  }

  /// The code point of an escape, after its backslash.
  char32_t escaped_point() {
    const char32_t c = in_.next("the character after \\");
    switch (c) {
      case 'a':
        return '\a';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'v':
        return '\v';
      case 'x':
        return hexadecimal();
      case 'p':
      case 'P':
        in_.refuse("Unicode classes");
      default:
        break;
    }
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
    if (is_word) in_.reject("an unknown escape");
    return c == '0' ? octal() : c;
  }

  char32_t octal() {
    char32_t value = 0;
    for (int i = 0; i < 2 && in_.peek() >= '0' && in_.peek() <= '7'; ++i) value = value * 8 + (in_.get() - '0');
    return value;
  }

  char32_t hexadecimal() {
    const bool braced = in_.take(U"{");
    char32_t value = 0;
    int digits = 0;
    for (; digits < (braced ? 8 : 2); ++digits) {
      const char32_t c = to_lower(in_.peek());
      const bool decimal = c >= '0' && c <= '9';
      if (!decimal && (c < 'a' || c > 'f')) break;
      value = value * 16 + (decimal ? c - '0' : c - 'a' + 10);
      in_.skip(1);
    }
    if (digits == 0 || (!braced && digits != 2) || (braced && !in_.take(U"}")) || value > kLast) in_.reject("a bad \\x");
    return value;
  }

  Ranges bracket_class() {
    const bool negated = in_.take(U"^");
    Ranges out;
    bool first = true;
    while (first || in_.peek() != ']') {
      if (in_.at_end()) in_.reject("missing a ]");
      first = false;
      if (take_named_class(out)) continue;
      if (in_.peek() == '\\') {
        if (const auto perl = perl_class(in_.peek(1))) {
          in_.skip(2);
          out.insert(out.end(), perl->begin(), perl->end());
          continue;
        }
      }
      const char32_t low = class_point();
      char32_t high = low;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.skip(1);
        high = class_point();
      }
      if (high < low) in_.reject("a range that runs backwards");
      out.emplace_back(low, high);
    }
    in_.skip(1);
    if (flags_.ignores_case) out = folded(out);
    return negated ? complement(out) : sorted(out);
  }

  char32_t class_point() {
    const char32_t c = in_.next("a ]");
    return c == '\\' ? escaped_point() : c;
  }

  bool take_named_class(Ranges& out) {
    if (!in_.looking_at(U"[:")) return false;
    const std::size_t end = in_.rest().find(U":]");
    if (end == std::u32string::npos) return false;
    std::u32string_view name = in_.rest().substr(2, end - 2);
    const bool negated = name.starts_with(U'^');
    if (negated) name.remove_prefix(1);
    const auto found = std::ranges::find(posix_classes(), name, &NamedClass::name);
    if (found == posix_classes().end()) in_.reject("an unknown class");
    const Ranges ranges = negated ? complement(found->ranges) : found->ranges;
    out.insert(out.end(), ranges.begin(), ranges.end());
    in_.skip(end + 2);
    return true;
  }

  /// Adds the other case of every letter.
  static Ranges folded(Ranges ranges) {
    constexpr char32_t kLastWithCase = 0x1FFFF;
    const std::size_t count = ranges.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (char32_t point = ranges[i].first; point <= std::min(ranges[i].second, kLastWithCase); ++point) {
        ranges.emplace_back(to_lower(point), to_lower(point));
        ranges.emplace_back(to_upper(point), to_upper(point));
      }
    }
    return sorted(std::move(ranges));
  }

  [[nodiscard]] RegexNode literal(char32_t point) const {
    const Ranges exact{{point, point}};
    return ranges(flags_.ignores_case ? folded(exact) : exact);
  }
  static RegexNode ranges(Ranges ranges) {
    RegexNode out;
    out.kind = RegexNode::Kind::range;
    out.ranges = std::move(ranges);
    return out;
  }
  static RegexNode assertion(char which) {
    RegexNode out;
    out.kind = RegexNode::Kind::assertion;
    out.assertion = which;
    return out;
  }

  Pattern in_;
  Flags flags_;
  int level_ = 0;
};

}  // namespace

RegexNode parse_regex(std::string_view pattern) {
  return Parser(pattern).run();
}

}  // namespace relayout
