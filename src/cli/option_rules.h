#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::cli {

/// Which options go together. One without effect is refused: rules over the options that the command line gives; a configuration file may
/// hold options for other calls.
class OptionRules {
 public:
  using Names = std::initializer_list<std::string_view>;
  /// Each of `names` does something only together with one of `others`.
  void needs(Names names, Names others);
  /// None of `names` goes with any of `others`; the message ends with `reason`, where the names alone do not tell it.
  void excludes(Names names, Names others, std::string_view reason = {});
  /// The same, but not where the command line gives `unless`.
  void excludes_unless(Names names, std::string_view other, std::string_view unless);

  /// Error{usage} for the first rule that the options which are given break.
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
