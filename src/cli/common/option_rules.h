#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::cli {

/// Where an option comes from.
struct OptionSource {
  bool is_given = false;         ///< on the command line or in a configuration file, and not switched off
  bool is_written_here = false;  ///< on the command line
  std::string place;             ///< "FILE:LINE" in a configuration file
};

/// Rules about combinations of options. Options that contradict each other are rejected, wherever they come from. An option that has no
/// effect is rejected on the command line only: one in a configuration file may be for other calls.
class OptionRules {
 public:
  using Names = std::initializer_list<std::string_view>;
  /// Each of `names` has an effect only together with one of `others`.
  void needs(Names names, Names others);
  /// Each of `names` contradicts any of `others`. `reason`: end of the message, if the names do not explain themselves.
  void excludes(Names names, Names others, std::string_view reason = {});
  /// None of `names` has an effect together with any of `others`.
  void idle(Names names, Names others, std::string_view reason = {});
  /// The same, unless `unless` is given.
  void idle_unless(Names names, std::string_view other, std::string_view unless);

  /// Error{usage} for the first rule that the given options break.
  void check(const std::function<OptionSource(const std::string& name)>& source_of) const;

 private:
  enum class Kind : uint8_t { needs, excludes, idle };
  /// What options on the left have to do with those on the right.
  struct Rule {
    Kind kind = Kind::needs;
    std::vector<std::string> names, others;
    std::string reason = {};
    std::string unless = {};  ///< an option that lifts the rule
  };
  std::vector<Rule> rules_;
};

}  // namespace relayout::cli
