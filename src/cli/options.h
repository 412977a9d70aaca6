#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_rules.h"

namespace relayout::cli {

/// Standard input or output, in the place of a file.
inline constexpr char kStream[] = "-";

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// The options of one subcommand: declared once, read from the command line and from a configuration file, printed as its help.
/// Every complaint is Error{usage} in one line. Numbers are read the same in every locale.
class OptionSet {
 public:
  OptionSet(std::string_view command, std::string_view summary, std::string_view synopsis, std::string_view examples);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// Options declared from here on stand under this title of the help.
  void group(std::string_view title);
  /// Arguments without a dash: at least `minimum`, at most `maximum`.
  void positional(std::string_view placeholder, std::vector<std::string>& target, std::size_t minimum, std::size_t maximum,
                  std::string_view help);

  // `names` are as they are typed, "-o, --output"; `placeholder` stands for the value in the help.
  void flag(std::string_view names, bool& target, std::string_view help);
  /// --NAME and --no-NAME.
  void toggle(std::string_view name, bool& target, std::string_view help);
  /// Any word but the empty one.
  void text(std::string_view names, std::string_view placeholder, std::string& target, std::string_view help);
  /// One of `choices`, which are the placeholder too.
  void choice(std::string_view names, std::vector<std::string_view> choices, std::string& target, std::string_view help);
  void integer(std::string_view names, std::string_view placeholder, int64_t minimum, int64_t& target, std::string_view help);
  void integer(std::string_view names, std::string_view placeholder, int64_t minimum, int& target, std::string_view help);
  /// A finite number that is not negative.
  void real(std::string_view names, std::string_view placeholder, std::optional<double>& target, std::string_view help);
  /// May be given several times; `separator` parts the items of one value.
  void list(std::string_view names, std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
            char separator = '\0');
  /// NAME=VALUE, may be given several times.
  void assignments(std::string_view names, std::string_view placeholder, Assignments& target, std::string_view help);
  /// The option declared last does not appear in the help.
  void hide_last();

  /// Which of the options go together.
  [[nodiscard]] OptionRules& rules();
  /// Whether the command line gives the option, by any of its names.
  [[nodiscard]] bool is_given(std::string_view name) const;
  /// Names and values of all options that the command line or the configuration file gives, but `others`: what results depend on.
  [[nodiscard]] std::vector<std::string> given_except(std::initializer_list<std::string_view> others) const;
  /// All names with their dashes, --help and --config included.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Reads the arguments, then the TOML file of --config for what they leave open: keys before the first section are for all
  /// commands, those of section [COMMAND] for this one. False when --help was asked for; nothing is checked then.
  [[nodiscard]] bool parse(std::span<const std::string> arguments);
  /// The help in lines of at most `width` columns.
  [[nodiscard]] std::string help(std::size_t width) const;
  /// Declares -h, --help and --config, in whose files sections are named after `commands`; call it last.
  void finish(std::vector<std::string> commands);

 private:
  struct Declared;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A whole number in decimal, nothing else around it. `what` begins the message of the error.
[[nodiscard]] int64_t parse_integer(const std::string& what, std::string_view text, int64_t minimum);
/// A finite number, nothing else around it.
[[nodiscard]] double parse_real(const std::string& what, std::string_view text);
/// "5%" or "5": 0.05, not negative.
[[nodiscard]] double parse_percent(const std::string& what, std::string word);
/// "1,3,224,224"
[[nodiscard]] std::vector<int64_t> parse_dims(const std::string& what, std::string_view text);

/// --dim N=2 and --shape NAME=1,3,224,224.
[[nodiscard]] std::map<std::string, int64_t> dims_of(const Assignments& words);
[[nodiscard]] std::map<std::string, std::vector<int64_t>> shapes_of(const Assignments& words);

}  // namespace relayout::cli
