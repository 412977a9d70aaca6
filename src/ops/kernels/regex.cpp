// Matches a whole text against a regular expression, in time linear in the text.
// It runs the expression's program with all possible states at once.

#include "ops/kernels/regex.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "relayout/error.h"

namespace relayout {

/// Turns the parsed expression into states, from its end to its beginning: each part is compiled for the state that follows it.
class RegexCompiler {
 public:
  explicit RegexCompiler(Regex& regex) : regex_(regex) {}

  /// The first state of `node`, which is followed by state `next`.
  std::size_t compile(const RegexNode& node, std::size_t next) {
    switch (node.kind) {
      case RegexNode::Kind::empty:
        return next;
      case RegexNode::Kind::range:
        regex_.ranges_.push_back(node.ranges);
        return add({Regex::State::Kind::range, 0, regex_.ranges_.size() - 1, next, 0});
      case RegexNode::Kind::assertion:
        return add({Regex::State::Kind::assertion, node.assertion, 0, next, 0});
      case RegexNode::Kind::sequence:
        for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) next = compile(*part, next);
        return next;
      case RegexNode::Kind::alternative: {
        std::size_t out = compile(node.parts.back(), next);
        for (std::size_t i = node.parts.size() - 1; i-- > 0;) {
          const std::size_t first = compile(node.parts[i], next);
          out = add({Regex::State::Kind::split, 0, 0, first, out});
        }
        return out;
      }
      case RegexNode::Kind::repeat:
        return repeat(node, next);
    }
    return next;
  }

  std::size_t add(Regex::State state) {
    constexpr std::size_t kMostStates = 200'000;
    if (regex_.states_.size() >= kMostStates) fail(ErrorKind::unsupported, "a regular expression of more than 200,000 states");
    regex_.states_.push_back(state);
    return regex_.states_.size() - 1;
  }

 private:
  std::size_t repeat(const RegexNode& node, std::size_t next) {
    const RegexNode& part = node.parts.front();
    std::size_t out = next;
    if (node.most == RegexNode::kUnbounded) {
      out = add({Regex::State::Kind::split, 0, 0, 0, next});
      const std::size_t body = compile(part, out);
      regex_.states_[out].next = body;
    } else {
      for (int i = node.least; i < node.most; ++i) {
        const std::size_t body = compile(part, out);
        out = add({Regex::State::Kind::split, 0, 0, body, next});
      }
    }
    for (int i = 0; i < node.least; ++i) out = compile(part, out);
    return out;
  }

  Regex& regex_;
};

/// The states that are possible after the text read so far.
class Regex::Threads {
 public:
  explicit Threads(std::size_t states) : seen_(states, 0) {}
  void clear() {
    states_.clear();
    ++round_;
  }
  /// Whether the state is new.
  bool insert(std::size_t state) {
    if (seen_[state] == round_) return false;
    seen_[state] = round_;
    states_.push_back(state);
    return true;
  }
  [[nodiscard]] const std::vector<std::size_t>& states() const { return states_; }
  std::vector<std::size_t> pending;

 private:
  std::vector<std::size_t> states_;
  std::vector<std::size_t> seen_;
  std::size_t round_ = 1;
};

Regex::Regex(std::string_view pattern) {
  RegexCompiler compiler(*this);
  const RegexNode parsed = parse_regex(pattern);
  start_ = compiler.compile(parsed, compiler.add({}));
}

bool Regex::holds(char assertion, std::u32string_view text, std::size_t position) {
  const auto is_word = [](char32_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'); };
  const bool begins = position == 0, ends = position == text.size();
  switch (assertion) {
    case '^':
      return begins;
    case '$':
      return ends;
    case 'm':
      return begins || text[position - 1] == '\n';
    case 'n':
      return ends || text[position] == '\n';
    default: {
      const bool before = !begins && is_word(text[position - 1]), after = !ends && is_word(text[position]);
      return (before != after) == (assertion == 'b');
    }
  }
}

/// Adds a state and all states that are reachable from it without reading.
void Regex::add(std::size_t state, std::u32string_view text, std::size_t position, Threads& threads) const {
  threads.pending.push_back(state);
  while (!threads.pending.empty()) {
    const std::size_t number = threads.pending.back();
    threads.pending.pop_back();
    if (!threads.insert(number)) continue;
    const State& here = states_[number];
    if (here.kind == State::Kind::split) {
      threads.pending.push_back(here.other);
      threads.pending.push_back(here.next);
    } else if (here.kind == State::Kind::assertion && holds(here.assertion, text, position)) {
      threads.pending.push_back(here.next);
    }
  }
}

bool Regex::matches_all(std::string_view bytes) const {
  const std::u32string text = decode_utf8(bytes);
  Threads now(states_.size()), next(states_.size());
  add(start_, text, 0, now);
  for (std::size_t i = 0; i < text.size() && !now.states().empty(); ++i) {
    next.clear();
    for (const std::size_t number : now.states()) {
      const State& here = states_[number];
      if (here.kind != State::Kind::range) continue;
      const Ranges& ranges = ranges_[here.ranges];
      const auto range = std::ranges::upper_bound(ranges, text[i], {}, &std::pair<char32_t, char32_t>::first);
      if (range != ranges.begin() && text[i] <= std::prev(range)->second) add(here.next, text, i + 1, next);
    }
    std::swap(now, next);
  }
  return std::ranges::any_of(now.states(), [&](std::size_t number) { return states_[number].kind == State::Kind::match; });
}

}  // namespace relayout
