// Refuses options that contradict each other or have no effect together.
#include "cli/common/option_rules.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "relayout/error.h"

namespace relayout::cli {
namespace {

/// An option in a message, with its place if that is a configuration file.
std::string named(const std::string& name, const OptionSource& source) {
  return source.is_written_here || source.place.empty() ? name : name + " (" + source.place + ")";
}

}  // namespace

void OptionRules::needs(Names names, Names others) {
  rules_.push_back({Kind::needs, {names.begin(), names.end()}, {others.begin(), others.end()}});
}

void OptionRules::excludes(Names names, Names others, std::string_view reason) {
  rules_.push_back({Kind::excludes, {names.begin(), names.end()}, {others.begin(), others.end()}, std::string(reason)});
}

void OptionRules::idle(Names names, Names others, std::string_view reason) {
  rules_.push_back({Kind::idle, {names.begin(), names.end()}, {others.begin(), others.end()}, std::string(reason)});
}

void OptionRules::idle_unless(Names names, std::string_view other, std::string_view unless) {
  rules_.push_back({Kind::idle, {names.begin(), names.end()}, {std::string(other)}, {}, std::string(unless)});
}

void OptionRules::check(const std::function<OptionSource(const std::string& name)>& source_of) const {
  for (const Rule& rule : rules_) {
    if (!rule.unless.empty() && source_of(rule.unless).is_given) continue;
    for (const std::string& name : rule.names) {
      const OptionSource source = source_of(name);
      if (!source.is_given || (rule.kind != Kind::excludes && !source.is_written_here)) continue;
      const auto other = std::ranges::find_if(rule.others, [&](const std::string& one) { return one != name && source_of(one).is_given; });
      if (rule.kind != Kind::needs && other != rule.others.end()) {
        fail(ErrorKind::usage, named(name, source) + " and " + named(*other, source_of(*other)) + " exclude each other" +
                                   (rule.unless.empty() ? "" : " without " + rule.unless) +
                                   (rule.reason.empty() ? "" : ": " + rule.reason));
      }
      if (rule.kind != Kind::needs || other != rule.others.end()) continue;
      std::string list;
      for (const std::string& needed : rule.others) {
        list.append(list.empty() ? "" : needed == rule.others.back() ? " or " : ", ").append(needed);
      }
      fail(ErrorKind::usage, std::string(name).append(" has no effect without ").append(list));
    }
  }
}

}  // namespace relayout::cli
