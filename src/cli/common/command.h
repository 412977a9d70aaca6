#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace relayout::cli {

class OptionSet;

/// Options that every subcommand understands.
struct Common {
  int threads = 0;  ///< 0: the command's default
  bool verbose = false;
  bool quiet = false;  ///< the verdict alone
  bool json = false;   ///< one document on standard output, errors included
};

/// One subcommand. `prepare` declares its options and returns the function to call after parsing, which returns the exit code. The captured
/// values live as long as the returned function.
struct Command {
  std::string_view name, summary;
  std::string_view synopsis;  ///< follows the name in the usage line; one line per form
  std::string_view examples;  ///< last section of the help
  std::function<int()> (*prepare)(OptionSet& options, const Common& common);
};

extern const Command kConvert;
extern const Command kVerify;
extern const Command kInspect;
extern const Command kProfile;
extern const Command kDiff;
extern const Command kDerive;
extern const Command kRun;
extern const Command kExtract;
extern const Command kMerge;
extern const Command kReport;

/// Runs the whole program on arguments without the program name and returns the documented exit code. Nothing is thrown. Results go to
/// standard output, everything else to standard error.
[[nodiscard]] int run_program(std::span<const std::string> arguments) noexcept;

}  // namespace relayout::cli
