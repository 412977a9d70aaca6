// Runs a command line: finds the command and its options, prints its help or the manual, and reports what failed.

#include <fstream>

#include "base/interrupt.h"
#include "base/log.h"
#include "cli/common/help.h"
#include "cli/common/options.h"
#include "cli/common/process.h"
#include "cli/common/report.h"
#include "cli/common/terminal.h"

namespace relayout::cli {
namespace {

constexpr std::array kCommands = {&kConvert, &kVerify, &kInspect, &kProfile, &kDiff, &kDerive, &kMerge, &kRun, &kExtract, &kReport};

bool g_wants_document = false;  ///< --json was given on the command line or in a configuration file

struct CommonValues {
  Common common;
  std::string color = "auto";
};

void add_common(OptionSet& options, CommonValues& values) {
  options.group("Common options", 0, /*beside_results=*/true);
  const std::vector<std::string> own = options.names();
  if (std::ranges::find(own, "--threads") == own.end()) {
    options.integer("--threads", "N", 1, values.common.threads, "use N threads (default: all CPUs of this process; convert: 2)");
  }
  options.flag("--json", values.common.json, "write the report as one JSON document, errors included");
  options.flag("-v, --verbose", values.common.verbose, "say more: all findings, timings, hints").excludes({"--quiet"});
  options.flag("-q, --quiet", values.common.quiet, "print the verdict alone: no warnings, no progress");
  options.choice("--color", {"auto", "always", "never"}, values.color, "color text; auto: on a terminal, unless NO_COLOR is set");
  std::vector<std::string> commands;
  for (const Command* command : kCommands) commands.emplace_back(command->name);
  options.finish(std::move(commands));
}

void apply_common(const CommonValues& values) {
  const bool quiet = values.common.quiet;
  g_wants_document = values.common.json;
  set_log_level(values.common.verbose ? LogLevel::verbose : quiet ? LogLevel::quiet : LogLevel::normal);
  set_color(values.color == "always" ? ColorChoice::always : values.color == "never" ? ColorChoice::never : ColorChoice::automatic);
}

bool is_command(std::string_view name) {
  return std::ranges::any_of(kCommands, [&](const Command* command) { return command->name == name; });
}

std::string program_help(std::size_t width) {
  const auto line = [&](std::string_view name, std::string_view summary) {
    constexpr std::size_t kColumn = 13;
    return "  " + std::string(name) + std::string(kColumn - 2 - name.size(), ' ') + wrapped(split(summary, ' '), kColumn, width) + "\n";
  };
  std::string out = wrapped(split("relayout: fold ONNX models, store their weights channels-last, prove the result", ' '), 0, width) +
                    "\n\nUsage:\n"
                    "  relayout COMMAND [OPTIONS] …\n"
                    "  relayout COMMAND --help\n"
                    "  relayout help [COMMAND|TOPIC]\n"
                    "  relayout --version [--json]\n"
                    "\nCommands:\n";
  for (const Command* command : kCommands) out += line(command->name, command->summary);
  out += "\nTopics (relayout help TOPIC):\n";
  for (const Topic& topic : topics()) out += is_command(topic.name) ? "" : line(topic.name, topic.summary);
  out += "\nExit codes:\n";
  constexpr auto kCodes =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"0", "done; the same"},
                                                                    {"1", "the answer is no: verification failed, not all folded, slower"},
                                                                    {"2", "usage"},
                                                                    {"3", "the model or the data given is not valid"},
                                                                    {"4", "valid, but not supported"},
                                                                    {"5", "reading, writing or resources failed"},
                                                                    {"70", "a defect in relayout itself"},
                                                                    {"130, 143", "interrupted, terminated"},
                                                                    {"141", "the reader of the output has closed it"}});
  for (const auto& [code, meaning] : kCodes) out += line(code, meaning);
  return out;
}

/// `names`: other words that an unknown command may be meant for.
const Command* find_command(const std::string& name, std::vector<std::string> names = {}) {
  for (const Command* command : kCommands) {
    if (command->name == name) return command;
    names.emplace_back(command->name);
  }
  std::error_code ignored;
  std::string advice = did_you_mean(name, names, "; ");
  if (std::filesystem::is_regular_file(name, ignored)) advice = "; to see its contents: relayout inspect " + file_word(name);
  fail(ErrorKind::usage, "unknown command " + quote(name) + advice, "relayout --help lists the commands");
}

/// Searches the unparsed arguments, because the command line may be invalid.
bool is_requested(std::span<const std::string> arguments, std::initializer_list<std::string_view> names) {
  const auto end = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), end, [&](const std::string& word) { return std::ranges::find(names, word) != names.end(); });
}

void print_help(const Command& command, const OptionSet& options, bool as_document) {
  const std::string text = options.help(help_width());
  if (!as_document) return write_output(in_locale(text));
  write_document(Json().set("schema", "relayout." + std::string(command.name) + "/1").set("help", text), 0);
}

/// A command with its options declared.
struct Prepared {
  OptionSet options;
  CommonValues values;
  std::function<int()> run;

  explicit Prepared(const Command& command)
      : options(command.name, command.summary, command.synopsis, command.examples), run(command.prepare(options, values.common)) {
    add_common(options, values);
  }
};

int run_command(const Command& command, std::span<const std::string> arguments) {
  Prepared prepared(command);
  if (!prepared.options.parse(arguments)) {
    print_help(command, prepared.options, is_requested(arguments, {"--json"}));
    return 0;
  }
  apply_common(prepared.values);
  return prepared.run();
}

/// The options of a command, as its --help has them.
std::string help_of(const Command& command, std::size_t width) {
  return Prepared(command).options.help(width);
}

/// Writes all pages of the manual into a folder, for `man`.
void write_man_pages(const std::filesystem::path& folder) {
  constexpr std::size_t kWidth = 73;  // man indents by 7 columns, and terminals have 80
  const auto write = [&](const ManPage& page) {
    std::ofstream file(folder / (page.name + "." + std::to_string(page.section)));
    file << man_page(page);
    if (!file.flush()) fail(ErrorKind::io, "cannot write man pages into " + escape(folder.string()));
  };
  write({"relayout", "convert ONNX models for channels-last inference and prove the result", 1, program_help(kWidth)});
  for (const Command* command : kCommands) {
    const Topic* const topic = find_topic(command->name);
    write({"relayout-" + std::string(command->name), std::string(command->summary), 1, help_of(*command, kWidth),
           topic == nullptr ? std::string_view{} : topic->text});
  }
  for (const Topic& topic : topics()) {
    if (!is_command(topic.name)) write({"relayout-" + std::string(topic.name), std::string(topic.summary), 7, "", topic.text});
  }
}

/// `relayout help [COMMAND|TOPIC]`.
int print_manual(std::span<const std::string> words) {
  if (words.empty()) {
    write_output(in_locale(program_help(help_width())));
    return 0;
  }
  if (words.size() == 2 && words[0] == "--man") {  // for builds
    write_man_pages(words[1]);
    return 0;
  }
  if (words.size() > 1) fail(ErrorKind::usage, "help takes one command or topic", "relayout --help lists them");
  const Topic* const topic = find_topic(words[0]);
  const std::string section = topic == nullptr && !is_command(words[0]) ? find_section(words[0]) : "";
  std::string text = section.empty() ? "" : manual_text(section, help_width(), output_has_colors());
  if (section.empty() && (topic == nullptr || is_command(words[0]))) {
    std::vector<std::string> names;
    for (const Topic& other : topics()) names.emplace_back(other.name);
    text = help_of(*find_command(words[0], std::move(names)), help_width());
  }
  if (topic != nullptr) {
    text += (text.empty() ? "" : "\n") + manual_text(topic->text, help_width(), output_has_colors());
  }
  page_output(in_locale(text));
  return 0;
}

int print_version(std::span<const std::string> rest) {
  const bool json = rest.size() == 1 && rest.front() == "--json";
  if (!rest.empty() && !json) fail(ErrorKind::usage, "--version takes no other option but --json");
  if (json) {
    write_document(version_json(), 0);
  } else {
    write_output(version_line() + "\n");
  }
  return 0;
}

/// Refuses an option in the position of the command.
[[noreturn]] void refuse_option(const std::string& option) {
  const std::string advice = did_you_mean(option, {"--version", "--help"}, "; ");
  if (!advice.empty()) fail(ErrorKind::usage, "unknown option " + quote(option) + advice);
  fail(ErrorKind::usage, "options come after the command: relayout COMMAND " + escape(option) + " …");
}

int run(std::span<const std::string> arguments) {
  if (arguments.empty()) fail(ErrorKind::usage, "which command? relayout --help lists them");
  const std::string& first = arguments.front();
  if (first == "--version") return print_version(arguments.subspan(1));
  if (first == "help") return print_manual(arguments.subspan(1));
  if (first == "-h" || first == "--help") return print_manual({});
  if (first.starts_with('-')) refuse_option(first);
  const Command& command = *find_command(first);
  const bool requests_version = arguments.size() > 1 && arguments[1] == "--version";
  return requests_version ? print_version(arguments.subspan(2)) : run_command(command, arguments.subspan(1));
}

/// Every exit writes a document for programs that parse standard output.
void print_document(const std::string& command, const Failure& failure) noexcept {
  try {
    const bool is_known = is_command(command);
    const std::string schema = "relayout." + (is_known ? command : std::string("error")) + "/1";
    write_document(Json().set("schema", schema).set("error", error_json(failure)), failure.code);
  } catch (...) {
    return;  // standard error has the message already
  }
}

}  // namespace

int run_program(std::span<const std::string> arguments) noexcept {
  try {
    write_warnings_once();
    measure_ascii(!locale_has_utf8());
    return run(arguments);
  } catch (...) {
    if (is_pipe_closed()) end_by_closed_pipe();
    const Failure failure = current_failure();
    print_failure(failure, is_requested(arguments, {"-v", "--verbose"}));
    if ((g_wants_document || is_requested(arguments, {"--json"})) && !has_written_output()) print_document(arguments.front(), failure);
    return failure.code;
  }
}

}  // namespace relayout::cli
