// Rejects options that "exclude each other", and options that have "no effect without" another one; the rules themselves are in each
// command's file.
#include "cli/option_rules.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "relayout/error.h"

namespace relayout::cli {

void OptionRules::needs(Names names, Names others) {
  rules_.push_back({{names.begin(), names.end()}, {others.begin(), others.end()}, false, {}});
}

void OptionRules::excludes(Names names, Names others, std::string_view reason) {
  rules_.push_back({{names.begin(), names.end()}, {others.begin(), others.end()}, true, {}, std::string(reason)});
}

void OptionRules::excludes_unless(Names names, std::string_view other, std::string_view unless) {
  rules_.push_back({{names.begin(), names.end()}, {std::string(other)}, true, std::string(unless)});
}

void OptionRules::check(const std::function<bool(const std::string& name)>& is_given) const {
  for (const Rule& rule : rules_) {
    if (!rule.unless.empty() && is_given(rule.unless)) continue;
    for (const std::string& name : rule.names) {
      if (!is_given(name)) continue;
      const auto other = std::ranges::find_if(rule.others, is_given);
      if (rule.excludes && other != rule.others.end() && *other != name) {
        fail(ErrorKind::usage, name + " and " + *other + " exclude each other" + (rule.unless.empty() ? "" : " without " + rule.unless) +
                                   (rule.reason.empty() ? "" : ": " + rule.reason));
      }
      if (rule.excludes || other != rule.others.end()) continue;
      std::string list;
      for (const std::string& needed : rule.others) {
        list.append(list.empty() ? "" : needed == rule.others.back() ? " or " : ", ").append(needed);
      }
      fail(ErrorKind::usage, std::string(name).append(" has no effect without ").append(list));
    }
  }
}

}  // namespace relayout::cli
