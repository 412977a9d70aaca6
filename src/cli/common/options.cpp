// Reads the options of a command from its command line and from a file. Values are converted here and not by CLI11, so that messages are
// relayout's and no locale matters.
#include "cli/common/options.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/numbers.h"
#include "cli/common/config_file.h"
#include "cli/common/help.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr int64_t kLargestConfig = 1 << 20;

[[noreturn]] void usage(const std::string& message) {
  fail(ErrorKind::usage, message);
}

/// Advice on how to write the name of a file that begins with a dash; `else_advice` if there is no such file.
std::string file_advice(const std::string& word, const std::string& else_advice) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(word, ignored)) return else_advice;
  return "; the file of this name is " + file_word(word);
}

/// Position of the '=' between a name and a path, both of which may contain '=': the first one that an existing file follows, else the
/// last.
std::size_t equals_before_file(const std::string& value) {
  std::error_code ignored;
  for (std::size_t at = value.find('='); at != std::string::npos; at = value.find('=', at + 1)) {
    if (std::filesystem::exists(value.substr(at + 1), ignored)) return at;
  }
  return value.rfind('=');
}

/// The finite number that a text consists of.
std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

/// Advice for a key outside of all sections: an option that is wrong for one command may be right for another.
std::string belongs_below(const ConfigEntry& given) {
  return given.section.empty() ? " (options of one command belong below its section, like [convert])" : "";
}

}  // namespace

double parse_real(const std::string& what, std::string_view text) {
  const std::optional<double> value = real_number(text);
  if (!value) usage(what + ": " + quote(text) + " is not a number");
  return *value;
}

double parse_percent(const std::string& what, std::string word) {
  if (word.ends_with('%')) word.pop_back();
  const double value = parse_real(what, word);
  if (value < 0) usage(what + ": " + quote(word) + " is less than 0");
  return value / 100;
}

struct OptionSet::Declared : OptionState {
  CLI::Option* option = nullptr;  ///< null for the positional
  bool is_flag = false, repeatable = false;
  std::vector<std::string> values;                                                   ///< as given; "true" or "false" of a flag
  bool is_toggle = false;                                                            ///< a flag with two forms
  std::vector<std::string_view> choices;                                             ///< the only values, where there are such
  std::function<void(const std::vector<std::string>&)> assign = [](const auto&) {};  ///< called when given

  [[nodiscard]] const std::string& label() const { return names.back(); }  ///< in messages about its value
  void give(std::vector<std::string> all) {
    values = std::move(all);
    is_given = !values.empty() && (!is_flag || is_toggle || values.back() != "false");
  }
};

struct OptionSet::Impl {
  CLI::App app;
  std::string command;
  HelpText help;
  std::vector<std::unique_ptr<Declared>> declared;
  std::vector<std::string> sections;  ///< of configuration files
  Declared *positional = nullptr, *config = nullptr, *help_flag = nullptr;
  std::size_t minimum = 0, maximum = 0;
  std::vector<FormChoice> choices;
  Forms group_forms = 0;  ///< of the options declared next
  bool group_beside_results = false;

  [[nodiscard]] const Declared& find(std::string_view name) const {
    for (const auto& entry : declared) {
      if (std::ranges::find(entry->names, name) != entry->names.end()) return *entry;
    }
    fail(ErrorKind::defect, "no option " + quote(name) + " of " + command);
  }

  [[nodiscard]] OptionStates states() const {
    OptionStates out;
    for (const auto& entry : declared) {
      if (entry->option != nullptr) out.push_back(entry.get());
    }
    return out;
  }

  Declared& declare(std::string_view names, std::string_view placeholder, std::string_view text) {
    help.add(names, placeholder, text);
    Declared& entry = *declared.emplace_back(std::make_unique<Declared>());
    for (const std::string& name : split(names, ',')) entry.names.push_back(name.substr(name.find_first_not_of(' ')));
    const auto name = std::ranges::find_if(entry.names, [](const std::string& one) { return one.starts_with("--"); });
    entry.name = name == entry.names.end() ? entry.label() : *name;
    entry.facts.only(group_forms);
    if (group_beside_results) entry.facts.beside_results();
    return entry;
  }

  Declared& add_valued(Declared& entry) {
    // One value per occurrence; check_and_assign() checks the number of occurrences.
    entry.option = app.add_option(joined(entry.names, ","))->expected(1)->take_all()->allow_extra_args(false);
    return entry;
  }

  Declared& add_flag(Declared& entry, const std::string& names) {
    entry.is_flag = entry.repeatable = true;
    entry.option = app.add_flag(names)->take_last();
    return entry;
  }

  [[nodiscard]] std::vector<std::string> option_names() const {
    std::vector<std::string> out;
    for (const auto& entry : declared) {
      if (entry->option != nullptr) out.insert(out.end(), entry->names.begin(), entry->names.end());
    }
    return out;
  }

  /// Whether a word is a value of some option rather than the name of a file.
  [[nodiscard]] bool is_value(const std::string& word) const {
    std::error_code ignored;
    if (std::filesystem::exists(word, ignored)) return false;
    return word == "true" || word == "false" || std::ranges::any_of(declared, [&](const auto& entry) {
             return std::ranges::find(entry->choices, word) != entry->choices.end();
           });
  }

  [[nodiscard]] bool is_configurable(const Declared& entry) const {
    return entry.option != nullptr && &entry != config && &entry != help_flag;
  }

  /// A value after a flag would be taken for a file.
  void refuse_values_of_flags(std::span<const std::string> arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& word = arguments[i];
      const std::size_t equals = word.find('=');
      for (const auto& entry : declared) {
        if (!entry->is_flag || std::ranges::find(entry->names, word.substr(0, equals)) == entry->names.end()) continue;
        const std::string value = equals != std::string::npos ? word.substr(equals + 1) : i + 1 < arguments.size() ? arguments[i + 1] : "";
        const bool is_taken = equals != std::string::npos ? value != "true" && value != "false" : is_value(value);
        if (is_taken) usage(entry->label() + " takes no value: " + quote(value));
      }
    }
  }

  void tokenize(std::span<const std::string> arguments) {
    const auto mark = std::ranges::find(arguments, "--");
    refuse_values_of_flags({arguments.begin(), mark});
    try {
      app.parse(std::vector<std::string>(std::make_reverse_iterator(mark), arguments.rend()));  // it expects them in reverse order
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string message = error.what();
      usage(message.substr(0, message.find(':')) + " needs a value");
    } catch (const CLI::ParseError& error) {
      usage(escape(error.what()));
    }
    for (const auto& entry : declared) {
      if (entry->option == nullptr) continue;
      entry->give(entry->option->results());
      entry->is_written_here = !entry->values.empty();
    }
    std::vector<std::string> others;
    for (const std::string& word : app.remaining()) {
      if (word.starts_with('-') && word != kStream) {
        const std::string name = word.substr(0, word.find('='));
        usage("unknown option " + quote(name) + " of " + command + file_advice(word, did_you_mean(name, option_names(), "; ")));
      }
      others.push_back(word);
    }
    if (mark != arguments.end()) others.insert(others.end(), mark + 1, arguments.end());
    if (positional != nullptr) {
      positional->values = std::move(others);
    } else if (!others.empty()) {
      usage(command + " takes no argument: " + quote(others.front()));
    }
  }

  void read_config(const std::string& path) {
    const std::string text = read_text(*File::open(path), kLargestConfig, "a configuration file");
    for (const ConfigEntry& entry : parse_config(text, path, sections)) {
      if (entry.section.empty() || entry.section == command) set_from_config(entry);
    }
  }

  void set_from_config(const ConfigEntry& given) {
    for (const auto& entry : declared) {
      const auto name = std::ranges::find(entry->names, "--" + given.key);
      if (!is_configurable(*entry) || name == entry->names.end()) continue;
      // The command line takes precedence. The section of the command follows the options for all commands, and overrides them.
      if (entry->is_written_here) return;
      if (entry->is_flag != (given.kind == ConfigEntry::Kind::boolean)) {
        usage(given.place + ": " + quote(given.key) + (entry->is_flag ? " is true or false" : " needs a value, not true or false") +
              belongs_below(given));
      }
      if (!entry->repeatable && given.values.size() != 1) {
        usage(given.place + ": " + quote(given.key) + " takes one value, not " + std::to_string(given.values.size()));
      }
      entry->place = given.place;
      const bool negative = name != entry->names.begin() && name->starts_with("--no-");
      return entry->give(entry->is_flag && negative ? std::vector<std::string>{given.values[0] == "true" ? "false" : "true"}
                                                    : given.values);
    }
    refuse_key(given);
  }

  [[noreturn]] void refuse_key(const ConfigEntry& given) const {
    std::vector<std::string> known;
    for (const auto& entry : declared) {
      for (const std::string& name : entry->names) {
        if (is_configurable(*entry) && name.starts_with("--")) known.push_back(name.substr(2));
      }
    }
    const std::string key = given.key.substr(std::min(given.key.find_first_not_of('-'), given.key.size()));
    const bool has_dashes = key != given.key && std::ranges::find(known, key) != known.end();
    usage(given.place + ": unknown option " + quote(given.key) + " of " + command +
          (has_dashes ? "; options are written here without dashes: " + quote(key) : did_you_mean(key, known, "; ")) +
          belongs_below(given));
  }

  void check_and_assign(Declared& entry) const {
    if (!entry.place.empty()) {
      try {
        return entry.assign(entry.values);
      } catch (const Error& error) {
        fail(error.kind(), entry.place + ": " + error.what(), error.hint());
      }
    }
    if (!entry.repeatable && entry.values.size() > 1) usage(entry.label() + " is given more than once");
    const std::vector<std::string> names = option_names();
    for (const std::string& value : entry.values) {
      if (std::ranges::find(names, value) != names.end()) usage(entry.label() + " needs a value, not " + quote(value));
    }
    entry.assign(entry.values);
  }

  void check_and_assign() {
    for (const auto& entry : declared) {
      if (entry->option != nullptr && !entry->values.empty()) check_and_assign(*entry);
    }
    if (positional == nullptr) return;
    const std::vector<std::string>& given = positional->values;
    if (given.size() < minimum) usage(command + " needs " + positional->label() + "; see relayout " + command + " --help");
    if (given.size() > maximum) usage(command + " takes no further argument: " + quote(given[maximum]));
    if (std::ranges::count(given, kStream) > 1) usage("standard input is there twice (-): it can be read once");
    positional->assign(given);
  }
};

OptionSet::OptionSet(std::string_view command, std::string_view summary, std::string_view synopsis, std::string_view examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->command = command;
  impl_->help = HelpText(command, summary, synopsis, examples);
  impl_->app.set_help_flag();  // none: finish() declares it
  impl_->app.allow_extras();   // tokenize() reports unknown options
}

OptionSet::~OptionSet() = default;

void OptionSet::group(std::string_view title, Forms forms, bool beside_results) {
  impl_->help.begin_group(title);
  impl_->group_forms = forms;
  impl_->group_beside_results = beside_results;
}

void OptionSet::positional(std::string_view placeholder, std::vector<std::string>& target, std::size_t minimum, std::size_t maximum,
                           std::string_view help) {
  Declared& entry = impl_->declare(placeholder, "", help);
  impl_->positional = &entry;
  impl_->minimum = minimum;
  impl_->maximum = maximum;
  entry.assign = [&target](const auto& values) { target = values; };
}

OptionFacts& OptionSet::flag(std::string_view names, bool& target, std::string_view help) {
  Declared& entry = impl_->add_flag(impl_->declare(names, "", help), std::string(names));
  entry.assign = [&target](const auto& values) { target = values.back() == "true"; };
  return entry.facts;
}

OptionFacts& OptionSet::toggle(std::string_view name, bool& target, std::string_view help) {
  const std::string positive = "--" + std::string(name), negative = "--no-" + std::string(name);
  Declared& entry = impl_->add_flag(impl_->declare(positive + ", " + negative, "", help), positive + ",!" + negative);
  entry.is_toggle = true;
  entry.assign = [&target, positive, negative](const auto& values) {
    if (std::ranges::find(values, values.back() == "true" ? "false" : "true") != values.end()) {
      usage(positive + " and " + negative + " exclude each other");
    }
    target = values.back() == "true";
  };
  return entry.facts;
}

OptionFacts& OptionSet::text(std::string_view names, std::string_view placeholder, std::string& target, std::string_view help) {
  Declared& entry = impl_->add_valued(impl_->declare(names, placeholder, help));
  entry.assign = [&target, &entry](const auto& values) {
    // `target` stays empty if the option is not given, so an empty value would be mistaken for that.
    if (values.front().empty()) usage(entry.label() + " needs a value, not an empty one");
    target = values.front();
  };
  return entry.facts;
}

OptionFacts& OptionSet::choice(std::string_view names, std::vector<std::string_view> choices, std::string& target, std::string_view help) {
  Declared& entry = impl_->add_valued(impl_->declare(names, joined(choices, "|"), help));
  entry.choices = std::move(choices);
  entry.assign = [&target, &entry](const auto& values) {
    if (std::ranges::find(entry.choices, values.front()) == entry.choices.end()) {
      usage(entry.label() + ": " + quote(values.front()) + " is none of " + joined(entry.choices, ", "));
    }
    target = values.front();
  };
  return entry.facts;
}

OptionFacts& OptionSet::whole(std::string_view names, std::string_view placeholder, int64_t minimum, int64_t maximum,
                              std::function<void(int64_t)> take, std::string_view help) {
  Declared& entry = impl_->add_valued(impl_->declare(names, placeholder, help));
  entry.assign = [&entry, minimum, maximum, take = std::move(take)](const auto& values) {
    const int64_t value = parse_integer(entry.label(), values.front(), minimum);
    if (value > maximum) usage(entry.label() + ": " + quote(values.front()) + " is too large");
    take(value);
  };
  return entry.facts;
}

OptionFacts& OptionSet::real(std::string_view names, std::string_view placeholder, std::optional<double>& target, std::string_view help) {
  Declared& entry = impl_->add_valued(impl_->declare(names, placeholder, help));
  entry.assign = [&target, &entry](const auto& values) {
    target = real_number(values.front());
    if (!(target >= 0.0)) usage(entry.label() + ": " + quote(values.front()) + " is not a number from 0 on");
  };
  return entry.facts;
}

OptionFacts& OptionSet::list(std::string_view names, std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                             char separator) {
  Declared& entry = impl_->add_valued(impl_->declare(names, placeholder, help));
  entry.repeatable = true;
  entry.assign = [&target, separator](const auto& values) {
    target.clear();
    for (const std::string& value : values) {
      const std::vector<std::string> items = separator == '\0' ? std::vector{value} : split(value, separator);
      target.insert(target.end(), items.begin(), items.end());
    }
  };
  return entry.facts;
}

OptionFacts& OptionSet::assignments(std::string_view names, std::string_view placeholder, Assignments& target, std::string_view help) {
  Declared& entry = impl_->add_valued(impl_->declare(names, placeholder, help));
  entry.repeatable = true;
  entry.assign = [&target, &entry, form = std::string(placeholder)](const auto& values) {
    target.clear();
    for (const std::string& value : values) {
      const std::size_t equals = form.ends_with("=FILE") ? equals_before_file(value) : value.rfind('=');
      if (equals == std::string::npos || equals == 0) usage(entry.label() + ": " + quote(value) + " is not of the form " + form);
      target.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
  };
  return entry.facts;
}

void OptionSet::finish(std::vector<std::string> commands) {
  impl_->sections = std::move(commands);
  Declared& config = impl_->declare(
      "--config", "FILE",
      "read options from a TOML file: those of one command below [convert] (layout = \"keep\"), those of every command above all sections");
  impl_->config = &impl_->add_valued(config);
  config.facts.beside_results();
  Declared& help = impl_->declare("-h, --help", "", "print this help");
  impl_->help_flag = &impl_->add_flag(help, "-h,--help");
}

void OptionSet::forms(FormChoice choice) {
  impl_->choices.push_back(std::move(choice));
}

bool OptionSet::is_given(std::string_view name) const {
  return impl_->find(name).is_written_here;
}

const OptionFacts& OptionSet::facts(std::string_view name) const {
  return impl_->find(name).facts;
}

const std::vector<FormChoice>& OptionSet::form_choices() const {
  return impl_->choices;
}

void OptionSet::check_form(Forms form) const {
  cli::check_form(impl_->states(), impl_->choices, form);
}

std::vector<std::string> OptionSet::given_for(Forms forms) const {
  const auto is_for_all = [&](const OptionFacts& facts) {
    for (const FormChoice& choice : impl_->choices) {
      for (const OptionForm& form : choice) {
        if ((form.bit & forms) != 0 && !facts.is_for(form.bit, choice)) return false;
      }
    }
    return true;
  };
  std::vector<std::string> out;
  for (const auto& entry : impl_->declared) {
    if (!entry->is_given || !entry->facts.decides_results || !is_for_all(entry->facts)) continue;
    if (entry->is_flag) out.push_back(entry->values.back() == "true" ? entry->name : entry->label());
    if (entry->is_flag) continue;
    for (const std::string& value : entry->values) out.insert(out.end(), {entry->label(), value});
  }
  return out;
}

std::vector<std::string> OptionSet::names() const {
  return impl_->option_names();
}

bool OptionSet::parse(std::span<const std::string> arguments) {
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word == "-h" || word == "--help") return false;
  }
  impl_->tokenize(arguments);
  if (!impl_->config->values.empty()) impl_->read_config(impl_->config->values.back());
  check_options(impl_->states(), impl_->choices);
  impl_->check_and_assign();
  return true;
}

std::string OptionSet::help(std::size_t width) const {
  return impl_->help.to_text(width);
}

}  // namespace relayout::cli
