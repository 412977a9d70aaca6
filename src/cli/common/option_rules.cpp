// Refuses options that contradict each other or have no effect together, by what each declares of itself.
#include "cli/common/option_rules.h"

#include <algorithm>

#include "relayout/error.h"

namespace relayout::cli {
namespace {

Forms all_of(const FormChoice& choice) {
  Forms out = 0;
  for (const OptionForm& form : choice) out |= form.bit;
  return out;
}

/// An option in a message, with its place if that is a configuration file.
std::string named(const std::string& name, const OptionState& option) {
  return option.is_written_here || option.place.empty() ? name : name + " (" + option.place + ")";
}

/// The options of one call.
class GivenOptions {
 public:
  GivenOptions(const OptionStates& options, const std::vector<FormChoice>& choices) : options_(options), choices_(choices) {}

  void check() const {
    for (const OptionState* option : options_) check_needs(*option);
    for (const OptionState* option : options_) {
      if (option->is_given) check_conflicts(*option, option->facts.excluded);
    }
    for (const FormChoice& choice : choices_) {
      for (const OptionForm& form : choice) check_chosen(form, choice);
    }
    for (const OptionState* option : options_) {
      if (option->is_given && option->is_written_here) check_conflicts(*option, option->facts.idle);
    }
  }

 private:
  [[nodiscard]] const OptionState& find(std::string_view name) const {
    const auto found =
        std::ranges::find_if(options_, [&](const OptionState* one) { return std::ranges::find(one->names, name) != one->names.end(); });
    if (found == options_.end()) fail(ErrorKind::defect, "no option is called " + std::string(name));
    return **found;
  }
  [[nodiscard]] bool is_given(std::string_view name) const { return !name.empty() && find(name).is_given; }

  /// Refuses an option without one of those that it needs, or that choose one of its forms.
  void check_needs(const OptionState& option) const {
    if (!option.is_given || !option.is_written_here) return;
    check_needs(option, option.facts.needed);
    for (const FormChoice& choice : choices_) {
      if (!option.facts.is_for(choice.front().bit, choice)) check_needs(option, choosers_of(option, choice));
    }
  }
  void check_needs(const OptionState& option, const std::vector<std::string>& needed) const {
    if (needed.empty() || std::ranges::any_of(needed, [&](const std::string& one) { return is_given(one); })) return;
    std::string list;
    for (const std::string& one : needed) list.append(list.empty() ? "" : one == needed.back() ? " or " : ", ").append(one);
    const std::string& otherwise = option.facts.otherwise;
    fail(ErrorKind::usage, option.name + " has no effect without " + list + (otherwise.empty() ? "" : ": " + otherwise));
  }
  /// The options that choose its forms. Choosing a form suffices for its cases.
  static std::vector<std::string> choosers_of(const OptionState& option, const FormChoice& choice) {
    std::vector<std::string> out;
    for (const OptionForm& form : choice) {
      const bool suffices = form.within != 0 && option.facts.is_for(form.within, choice);
      if (!form.chooser.empty() && !suffices && option.facts.is_for(form.bit, choice)) out.emplace_back(form.chooser);
    }
    return out;
  }

  void check_conflicts(const OptionState& option, const std::vector<OptionFacts::Conflict>& conflicts) const {
    for (const OptionFacts::Conflict& conflict : conflicts) {
      for (const std::string& other : conflict.others) {
        if (is_given(other)) refuse(option, other, {}, conflict.why);
      }
    }
  }

  /// Refuses the options that have no effect in a form that is chosen.
  void check_chosen(const OptionForm& form, const FormChoice& choice) const {
    if (!is_given(form.chooser)) return;
    for (const OptionState* each : options_) {
      const OptionState& option = *each;
      const bool is_chooser = std::ranges::find(option.names, form.chooser) != option.names.end();
      if (is_chooser || !option.is_given || !option.is_written_here || option.facts.is_for(form.bit, choice)) continue;
      if (form.within != 0 && !option.facts.is_for(form.within, choice)) continue;  // said of the form that this is a case of
      const auto lifting = std::ranges::find_if(
          choice, [&](const OptionForm& one) { return one.within == form.bit && option.facts.is_for(one.bit, choice); });
      if (lifting != choice.end() && is_given(lifting->chooser)) continue;
      refuse(option, std::string(form.chooser), lifting == choice.end() ? "" : lifting->chooser, option.facts.why_not(form));
    }
  }

  [[noreturn]] void refuse(const OptionState& option, const std::string& other, std::string_view without, std::string_view why) const {
    std::string message = named(option.name, option) + " and " + named(other, find(other)) + " exclude each other";
    if (!without.empty()) message.append(" without ").append(without);
    if (!why.empty()) message.append(": ").append(why);
    fail(ErrorKind::usage, message);
  }

  const OptionStates& options_;
  const std::vector<FormChoice>& choices_;
};

}  // namespace

OptionFacts& OptionFacts::only(Forms some) {
  forms = some;
  return *this;
}

OptionFacts& OptionFacts::because(Forms some, std::string_view why) {
  reasons.emplace_back(some, why);
  return *this;
}

OptionFacts& OptionFacts::needs(Names others, std::string_view instead) {
  otherwise = instead;
  needed.assign(others.begin(), others.end());
  return *this;
}

OptionFacts& OptionFacts::excludes(Names others, std::string_view why) {
  excluded.push_back({{others.begin(), others.end()}, std::string(why)});
  return *this;
}

OptionFacts& OptionFacts::idle_with(Names others, std::string_view why) {
  idle.push_back({{others.begin(), others.end()}, std::string(why)});
  return *this;
}

OptionFacts& OptionFacts::beside_results() {
  decides_results = false;
  return *this;
}

bool OptionFacts::is_for(Forms form, const FormChoice& choice) const {
  const Forms own = forms & all_of(choice);
  return own == 0 || (own & form) != 0;
}

std::string_view OptionFacts::why_not(const OptionForm& form) const {
  const auto own = std::ranges::find_if(reasons, [&](const auto& reason) { return (reason.first & form.bit) != 0; });
  return own == reasons.end() ? form.why : own->second;
}

void check_options(const OptionStates& options, const std::vector<FormChoice>& choices) {
  GivenOptions(options, choices).check();
}

void check_form(const OptionStates& options, const std::vector<FormChoice>& choices, Forms form) {
  for (const FormChoice& choice : choices) {
    const auto chosen = std::ranges::find(choice, form, &OptionForm::bit);
    if (chosen == choice.end()) continue;
    for (const OptionState* option : options) {
      if (!option->is_given || !option->is_written_here || option->facts.is_for(form, choice)) continue;
      fail(ErrorKind::usage, option->name + " " + std::string(option->facts.why_not(*chosen)));
    }
  }
}

}  // namespace relayout::cli
