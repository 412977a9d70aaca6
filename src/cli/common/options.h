#pragma once

// IWYU pragma: begin_exports
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/common/command.h"
#include "cli/common/option_rules.h"
#include "relayout/error.h"
// IWYU pragma: end_exports

namespace relayout::cli {

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// The options of one subcommand: declared once, read from the command line and from a configuration file, and printed as its help. Errors
/// are Error{usage} with a message of one line. Numbers are read the same in every locale.
class OptionSet {
 public:
  OptionSet(std::string_view command, std::string_view summary, std::string_view synopsis, std::string_view examples);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// Begins a group of the help with this title, for the options declared next. They are for these forms, unless they say otherwise, and
  /// where `beside_results` is set, none decides results.
  void group(std::string_view title, Forms forms = 0, bool beside_results = false);
  /// Arguments without a dash: at least `minimum`, at most `maximum`.
  void positional(std::string_view placeholder, std::vector<std::string>& target, std::size_t minimum, std::size_t maximum,
                  std::string_view help);

  /// Alternatives of which one applies, the usual one first. Options then declare for which of them they are.
  void forms(FormChoice choice);

  // `names`: as the user types them, "-o, --output". `placeholder`: the word for the value in the help. What is returned takes what else
  // there is to say of the option. Without `help` it is hidden.
  OptionFacts& flag(std::string_view names, bool& target, std::string_view help);
  /// A flag with two forms, --NAME and --no-NAME.
  OptionFacts& toggle(std::string_view name, bool& target, std::string_view help);
  /// Any text that is not empty.
  OptionFacts& text(std::string_view names, std::string_view placeholder, std::string& target, std::string_view help);
  /// One of `choices`, which are also the placeholder.
  OptionFacts& choice(std::string_view names, std::vector<std::string_view> choices, std::string& target, std::string_view help);
  template <std::signed_integral Integer>
  OptionFacts& integer(std::string_view names, std::string_view placeholder, int64_t minimum, Integer& target, std::string_view help) {
    constexpr int64_t kMost = std::numeric_limits<Integer>::max();
    return whole(names, placeholder, minimum, kMost, [&target](int64_t value) { target = static_cast<Integer>(value); }, help);
  }
  /// A finite number that is not negative.
  OptionFacts& real(std::string_view names, std::string_view placeholder, std::optional<double>& target, std::string_view help);
  /// May be given several times. `separator` separates the items of one value; '\0': each value is one item.
  OptionFacts& list(std::string_view names, std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                    char separator = '\0');
  /// NAME=VALUE; may be given several times.
  OptionFacts& assignments(std::string_view names, std::string_view placeholder, Assignments& target, std::string_view help);

  /// Refuses options without effect in a form that the arguments choose.
  void check_form(Forms form) const;
  /// Whether the option is on the command line, by any of its names.
  [[nodiscard]] bool is_given(std::string_view name) const;
  /// The given options on which results depend and that have an effect in each of these forms, with their values, as arguments.
  [[nodiscard]] std::vector<std::string> given_for(Forms forms) const;
  [[nodiscard]] const std::vector<FormChoice>& form_choices() const;
  [[nodiscard]] const OptionFacts& facts(std::string_view name) const;
  /// All names with their dashes, including --help and --config.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Reads the arguments, then the TOML file of --config for options that they do not set. Keys before the first section are for all
  /// commands, those of section [COMMAND] for this one. False if --help was requested; nothing is checked then.
  [[nodiscard]] bool parse(std::span<const std::string> arguments);
  /// The help text in lines of at most `width` columns.
  [[nodiscard]] std::string help(std::size_t width) const;
  /// Declares -h, --help and --config; `commands` are the names of the sections in configuration files. To be called last.
  void finish(std::vector<std::string> commands);

 private:
  struct Declared;
  struct Impl;
  OptionFacts& whole(std::string_view names, std::string_view placeholder, int64_t minimum, int64_t maximum,
                     std::function<void(int64_t)> take, std::string_view help);
  std::unique_ptr<Impl> impl_;
};

/// Parses a finite number without anything around it. `what`: beginning of the error message.
[[nodiscard]] double parse_real(const std::string& what, std::string_view text);
/// Parses "5%" or "5" as 0.05; rejects negative numbers.
[[nodiscard]] double parse_percent(const std::string& what, std::string word);

/// The patterns of --only and --exclude.
struct NameChoice {
  std::vector<std::string> only, exclude;

  /// Error{usage} for a pattern that matches no item. `names`: of an item; `what`: "line of the table".
  template <class Items, class Names>
  void check(const Items& items, const Names& names, std::string_view what) const {
    for (const std::string& pattern : only) check("--only", pattern, items, names, what);
    for (const std::string& pattern : exclude) check("--exclude", pattern, items, names, what);
  }
  /// Whether an item of these names is chosen.
  [[nodiscard]] bool has(const std::vector<std::string>& names) const {
    return (only.empty() || fits(only, names)) && !fits(exclude, names);
  }

 private:
  static bool fits(const std::vector<std::string>& patterns, const std::vector<std::string>& names) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return std::ranges::any_of(names, [&](const std::string& name) { return !name.empty() && glob_match(pattern, name); });
    });
  }
  template <class Items, class Names>
  static void check(const char* option, const std::string& pattern, const Items& items, const Names& names, std::string_view what) {
    if (std::ranges::any_of(items, [&](const auto& item) { return fits({pattern}, names(item)); })) return;
    fail(ErrorKind::usage, option + (" " + quote(pattern)) + ": no " + std::string(what) + " has a name like that");
  }
};

}  // namespace relayout::cli
