#pragma once

#include <functional>
#include <string_view>

namespace relayout::cli {

class OptionSet;

/// Options that every subcommand understands.
struct Common {
  int threads = 0;  ///< 0: as many as make sense
  bool verbose = false;
  bool quiet = false;  ///< the verdict alone
  bool json = false;   ///< one document on standard output, errors included
};

/// One subcommand. `prepare` declares its options and returns what is to be done once they have been parsed; that returns the exit code.
/// The captured values live as long as the returned function.
struct Command {
  std::string_view name, summary;
  std::string_view synopsis;  ///< behind the name in the usage line; several lines are several forms
  std::string_view examples;  ///< lines of the help's last section
  std::function<int()> (*prepare)(OptionSet& options, const Common& common);
};

extern const Command kConvert;
extern const Command kVerify;
extern const Command kInspect;
extern const Command kProfile;
extern const Command kDiff;
extern const Command kReport;

}  // namespace relayout::cli
