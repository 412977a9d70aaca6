#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout::cli {

/// Forms of a command, a bit each: `verify A B` and `verify --suite TREE` are two.
using Forms = uint32_t;

/// A form of a command.
struct OptionForm {
  Forms bit = 0;
  std::string_view chooser = {};  ///< the option that chooses it; empty: it applies unless another is chosen, or the arguments choose it
  std::string_view why = {};      ///< end of the message about an option that is not for it
  Forms within = 0;               ///< the form of which this is a case: its own chooser is then given too
};

/// Alternatives, one of which applies: what a command is about, or what it does.
using FormChoice = std::vector<OptionForm>;

/// What is declared of an option besides its name and value; option_rules.cpp derives from it which options are refused. Options that
/// contradict each other are refused wherever they come from. An option that has no effect is refused on the command line only: one in a
/// configuration file may be for other calls.
struct OptionFacts {
  using Names = std::initializer_list<std::string_view>;
  struct Conflict {
    std::vector<std::string> others;
    std::string why;  ///< end of the message, if the names do not explain themselves
  };

  /// It has an effect in these forms alone; where they name none of a choice, in all of that choice.
  OptionFacts& only(Forms some);
  /// Why it has none in these forms, in place of their own words.
  OptionFacts& because(Forms some, std::string_view why);
  /// It has an effect together with one of these alone; `instead` says what does it without them.
  OptionFacts& needs(Names others, std::string_view instead = {});
  /// It contradicts each of these.
  OptionFacts& excludes(Names others, std::string_view why = {});
  /// It has no effect together with any of these.
  OptionFacts& idle_with(Names others, std::string_view why = {});
  /// Results do not depend on it: it says where they go, or how and on what they are computed.
  OptionFacts& beside_results();

  /// Whether it has an effect in a form of this choice.
  [[nodiscard]] bool is_for(Forms form, const FormChoice& choice) const;
  [[nodiscard]] std::string_view why_not(const OptionForm& form) const;

  Forms forms = 0;  ///< 0: all
  std::vector<std::pair<Forms, std::string>> reasons;
  std::vector<std::string> needed;
  std::string otherwise;  ///< with `needed`: end of the message
  std::vector<Conflict> excluded, idle;
  bool decides_results = true;
};

/// An option and where it comes from.
struct OptionState {
  std::string name;                ///< in messages
  std::vector<std::string> names;  ///< all
  OptionFacts facts;
  bool is_given = false;         ///< on the command line or in a configuration file, and not switched off
  bool is_written_here = false;  ///< on the command line
  std::string place;             ///< "FILE:LINE" in a configuration file
};
using OptionStates = std::vector<const OptionState*>;  ///< not owned

/// Error{usage} for the first option that another one, or a form that another one chooses, contradicts or leaves without effect.
void check_options(const OptionStates& options, const std::vector<FormChoice>& choices);
/// The same for a form that arguments choose.
void check_form(const OptionStates& options, const std::vector<FormChoice>& choices, Forms form);

}  // namespace relayout::cli
