// Tests the examples of README.md and of the manual: every command of a ```console block is run, and must print the output shown.
#include <algorithm>
#include <cstddef>
#include <regex>
#include <span>
#include <sstream>

#include "command/command_test.h"
#include "support/model_cache.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

struct Example {
  int line = 0;
  std::string command;
  std::vector<std::string> output;
};

/// Blocks of examples; those of one block share a folder.
std::vector<std::vector<Example>> examples_of(const std::string& markdown) {
  std::vector<std::vector<Example>> blocks;
  std::istringstream lines(markdown);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = line == "```console";
      if (inside) blocks.emplace_back();
    } else if (inside && line.starts_with("$ ")) {
      blocks.back().push_back({number, line.substr(2), {}});
    } else if (inside && !blocks.back().empty()) {
      blocks.back().back().output.push_back(line);
    }
  }
  return blocks;
}

/// Numbers, units of times and widths differ between machines; words do not.
std::string words_of(const std::string& text) {
  static const std::regex kTime("[0-9][0-9.,]* (µs|ms|s)\\b"), kNumber("[0-9][0-9.,]*(e[+-]?[0-9]+)?"), kBlanks("[ \t]+"),
      kIsa("(AVX-?[0-9A-Za-z ]*|SSE[0-9.]+|AArch64)\\b");
  std::string out = std::regex_replace(text, kIsa, "ISA");
  out = std::regex_replace(out, kTime, "# s");
  out = std::regex_replace(out, kNumber, "#");
  out = std::regex_replace(out, kBlanks, " ");
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

class Readme : public CommandTest {
 protected:
  /// Puts the models that a command names into the folder: those of the model set by their name, otherwise the small one that comes with
  /// the sources. False if one is missing.
  bool provide_models(const std::string& command) {
    static const std::regex kModel("[A-Za-z0-9_./-]+\\.onnx");
    for (auto it = std::sregex_iterator(command.begin(), command.end(), kModel); it != std::sregex_iterator(); ++it) {
      const fs::path name = it->str();
      if (fs::exists(folder_ / name.string()) || name.string().ends_with(".cl.onnx") || is_output(command, name)) continue;
      fs::path source = source_folder() + "/" + name.string();
      if (!fs::exists(source)) source = source_folder() + "/testdata/" + name.stem().string() + "/model.onnx";
      if (!fs::exists(source)) source = cached_model(name.stem());
      if (source.empty()) return false;
      if (name.has_parent_path()) fs::create_directories(folder_ / name.parent_path().string());
      fs::copy_file(source, folder_ / name.string());
    }
    return true;
  }

  static bool is_output(const std::string& command, const fs::path& name) {
    return command.find("-o " + name.string()) != std::string::npos || command.find("> " + name.string()) != std::string::npos;
  }

  void run_example(const std::string& file, const Example& example) {
    SCOPED_TRACE(file + ", line " + std::to_string(example.line) + ": " + example.command);
    // The program as "relayout", in a shell as a reader would use it.
    const std::string path = fs::path(program()).parent_path().string() + ":/usr/bin:/bin";
    const ProcessResult result =
        run_process({"/bin/sh", "-c", example.command}, {.directory = folder_.path(), .environment = {{"PATH", path}}});
    std::vector<std::string> printed;
    std::istringstream lines(result.out + result.err);
    for (std::string line; std::getline(lines, line);) printed.push_back(words_of(line));
    std::vector<std::string> expected;
    for (const std::string& line : example.output) expected.push_back(words_of(line));
    EXPECT_TRUE(matches(expected, printed)) << result.out << result.err;
  }

  /// A line "…" stands for any lines.
  static bool matches(std::span<const std::string> expected, std::span<const std::string> printed) {
    if (expected.empty()) return printed.empty();
    if (expected[0] == "…" || expected[0] == "...") {
      for (std::size_t skip = 0; skip <= printed.size(); ++skip) {
        if (matches(expected.subspan(1), printed.subspan(skip))) return true;
      }
      return false;
    }
    return !printed.empty() && expected[0] == printed[0] && matches(expected.subspan(1), printed.subspan(1));
  }

  void run_examples(const std::string& file) {
    for (const auto& block : examples_of(read_file(source_folder() + "/" + file))) {
      for (const Example& example : block) {
        if (example.command.starts_with("cmake/dev") || example.command.starts_with("git ")) continue;  // these build the program
        if (!provide_models(example.command)) break;
        run_example(file, example);
      }
    }
  }
};

TEST_F(Readme, ExamplesPrintTheOutputShown) {
  run_examples("README.md");
}

TEST_F(Readme, ExamplesOfTheManualPrintTheOutputShown) {
  for (const auto& entry : fs::directory_iterator(source_folder() + "/src/cli/manual")) {
    run_examples(fs::relative(entry.path(), source_folder()).string());
  }
}

}  // namespace
}  // namespace relayout::test
