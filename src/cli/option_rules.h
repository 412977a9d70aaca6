#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::cli {

/// Rules about combinations of options on the command line: options that contradict each other or have no effect are rejected. Options in a
/// configuration file are exempt, as they may be for other calls.
class OptionRules {
 public:
  using Names = std::initializer_list<std::string_view>;
  /// Each of `names` has an effect only together with one of `others`.
  void needs(Names names, Names others);
  /// None of `names` may be combined with any of `others`. `reason`: end of the message, if the names do not explain themselves.
  void excludes(Names names, Names others, std::string_view reason = {});
  /// The same, unless `unless` is on the command line.
  void excludes_unless(Names names, std::string_view other, std::string_view unless);

  /// Error{usage} for the first rule that the given options break.
  void check(const std::function<bool(const std::string& name)>& is_given) const;

 private:
  /// Names on the left need or exclude those on the right.
  struct Rule {
    std::vector<std::string> names, others;
    bool excludes = false;
    std::string unless = {};  ///< an option that lifts the rule
    std::string reason = {};
  };
  std::vector<Rule> rules_;
};

}  // namespace relayout::cli
