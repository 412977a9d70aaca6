#include "cli/program.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "relayout/error.h"
#include "report/json.h"

namespace relayout::cli {
namespace {

constexpr std::array kCommands = {&kConvert, &kVerify, &kInspect};

struct CommonValues {
  Common common;
  bool quiet = false;
  std::string color = "auto";
};

void add_common(OptionSet& options, CommonValues& values) {
  options.group("Common options");
  options.integer("--threads", "N", 1, values.common.threads, "threads to use (default: all CPUs of this process; convert: 2)");
  options.flag("-v, --verbose", values.common.verbose, "say more: all findings, timings, hints");
  options.flag("-q, --quiet", values.quiet, "no warnings, no progress");
  options.choice("--color", {"auto", "always", "never"}, values.color, "colors; auto: on a terminal, unless NO_COLOR is set");
  options.finish();
}

void apply_common(const CommonValues& values) {
  if (values.common.verbose && values.quiet) fail(ErrorKind::usage, "--verbose and --quiet exclude each other");
  set_log_level(values.common.verbose ? LogLevel::verbose : values.quiet ? LogLevel::quiet : LogLevel::normal);
  set_color(values.color == "always" ? ColorChoice::always : values.color == "never" ? ColorChoice::never : ColorChoice::automatic);
}

std::string program_help() {
  std::string out =
      "relayout: convert ONNX models (fold BatchNormalization, channels-last weights) and prove the result\n"
      "\n"
      "Usage:\n"
      "  relayout COMMAND [OPTIONS] …\n"
      "  relayout COMMAND --help\n"
      "  relayout --version [--json]\n"
      "\n"
      "Commands:\n";
  for (const Command* command : kCommands) {
    out += "  " + std::string(command->name) + std::string(10 - command->name.size(), ' ') + std::string(command->summary) + "\n";
  }
  out +=
      "\n"
      "Exit codes:\n"
      "  0 done, same · 1 the answer is no (verification failed, not all folded) · 2 usage · 3 model or data\n"
      "  not valid · 4 valid but not supported · 5 reading, writing or resources failed · 70 a defect in\n"
      "  relayout · 130 interrupted (143 by SIGTERM)\n";
  return out;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command* command : kCommands) {
    if (command->name == name) return *command;
    names.push_back(command->name);
  }
  const std::string_view nearest = nearest_word(name, names);
  fail(ErrorKind::usage, "unknown command " + quote(name) + (nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?"),
       "relayout --help lists the commands");
}

int run_command(const Command& command, std::span<const std::string> arguments) {
  OptionSet options(command.name, command.summary, command.synopsis, command.examples);
  CommonValues values;
  const std::function<int()> run = command.prepare(options, values.common);
  add_common(options, values);
  if (!options.parse(arguments)) {
    write_output(options.help());
    return 0;
  }
  apply_common(values);
  return run();
}

int print_version(std::span<const std::string> rest) {
  const bool json = rest.size() == 1 && rest.front() == "--json";
  if (!rest.empty() && !json) fail(ErrorKind::usage, "--version stands alone, or with --json");
  write_output(json ? version_json().dump() + "\n" : version_line() + "\n");
  return 0;
}

int run(std::span<const std::string> arguments) {
  if (arguments.empty()) fail(ErrorKind::usage, "which command? relayout --help lists them");
  const std::string& first = arguments.front();
  if (first == "--version") return print_version(arguments.subspan(1));
  if (first == "help" && arguments.size() > 1) return run_command(find_command(arguments[1]), std::vector<std::string>{"--help"});
  if (first == "-h" || first == "--help" || first == "help") {
    write_output(program_help());
    return 0;
  }
  if (first.starts_with('-')) fail(ErrorKind::usage, "options stand behind the command: relayout COMMAND " + escape(first) + " …");
  return run_command(find_command(first), arguments.subspan(1));
}

}  // namespace

std::span<const Command* const> commands() {
  return kCommands;
}

int run_program(std::span<const std::string> arguments) noexcept {
  // The command line may be what is wrong: -v is looked for before it is parsed.
  const bool verbose = std::ranges::any_of(arguments, [](const std::string& word) { return word == "-v" || word == "--verbose"; });
  try {
    return run(arguments);
  } catch (...) {
    const Failure failure = current_failure();
    print_failure(failure, verbose);
    return failure.code;
  }
}

}  // namespace relayout::cli
