// Tests the output on terminals of 60, 80 and 120 columns against pictures in testdata/golden/screens.
#include <regex>
#include <sstream>

#include "command/command_test.h"
#include "report/table.h"
#include "support/golden.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

/// The report of a suite of one case.
constexpr char kReport[] =
    R"json({"schema": "relayout.verify-suite/1", "tool": {"version": "0.1.0"}, "tree": "tree", "options": ["--threads", "1", "--seed", "1"], "shard": {"index": 1, "total": 1, "cases": 1},
 "suite": {"cases": 1, "digest": "31a28b262b8aa81ae0b07855012308443115820706fcd58c51410b62b4892f85"},
 "cases": [{"name": "case_of_a_network_with_a_long_name", "status": "failed", "seconds": 0.034564, "message": "tree/case_of_a_network_with_a_long_name: no test_data_set_N and no output_0.pb in it (exit 3)"}],
 "summary": {"total": 1, "whole": 1, "passed": 0, "failed": 1, "pass-loose": 0, "inconclusive": 0, "unsupported": 0, "crashed": 0, "timeout": 0, "unexpected": 1, "stale": [], "seconds": 0.034872}, "exit_code": 1})json";

class Screens : public CommandTest, public testing::WithParamInterface<int> {
 protected:
  /// The same net with names as exporters write them.
  Screens() {
    onnx::ModelProto model = conv_batch_norm();
    const std::string scope = "/features/denseblock1/denselayer1/transition/";
    for (auto& node : *model.mutable_graph()->mutable_node()) {
      node.set_name(scope + node.op_type());
    }
    save_model(model, folder_ / "densely_connected_network_with_a_name.onnx");
    save_model(conv_batch_norm(), folder_ / "net.onnx");
  }

  /// `model` with a different first weight.
  void write_broken(const std::string& model, const std::string& name) {
    onnx::ModelProto broken = load_model(folder_ / model);
    onnx::TensorProto& weight = *broken.mutable_graph()->mutable_initializer(0);
    ASSERT_TRUE(weight.has_raw_data());
    weight.mutable_raw_data()->assign(weight.raw_data().size(), '\x3d');
    save_model(broken, folder_ / name);
  }

  /// Lines that are commands stay whole for a shell, and a table's continuation keeps its indent.
  static void expect_fits(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (const std::size_t cleared = line.rfind("\x1b[K"); cleared != std::string::npos) line.erase(0, cleared + 3);  // a bar was there
      const bool is_command = line.find("relayout ") != std::string::npos || line.ends_with("\\") || line.starts_with("    ");
      if (is_command) continue;
      EXPECT_LE(display_width(line), static_cast<std::size_t>(GetParam())) << line;
    }
  }

  std::string show(const std::vector<std::string>& arguments, const std::string& locale = "C.UTF-8") {
    // The oldest instruction set, so that the last bits are those of every processor.
    const ProcessOptions terminal{
        .environment = {{"COLUMNS", std::to_string(GetParam())}, {"TERM", "dumb"}, {"LC_ALL", locale}, {"ONEDNN_MAX_CPU_ISA", "SSE41"}},
        .terminal = true};
    std::string out = "$ relayout";
    for (const std::string& word : arguments) out += " " + word;
    out += "\n";
    std::istringstream lines(run(arguments, terminal).out);
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      const bool is_timing = line.starts_with("relayout: ") && line.ends_with(" ms");
      if (!is_timing) out += line + "\n";
    }
    return out;
  }
};

TEST_P(Screens, AreGolden) {
  fs::create_directories(folder_ / "tree/case_of_a_network_with_a_long_name");
  fs::copy_file(folder_ / "net.onnx", folder_ / "tree/case_of_a_network_with_a_long_name/model.onnx");
  write_file(folder_ / "report.json", kReport);
  const std::string longer = "densely_connected_network_with_a_name.onnx";
  std::string all;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"inspect", longer},
                                             {"inspect", longer, "-v"},
                                             {"inspect", longer, "--layout"},
                                             {"inspect", longer, "net.onnx"},
                                             {"convert", longer, "-o", "b.onnx"},
                                             {"convert", longer, "-o", "c.onnx", "--exclude", "*Batch*"},
                                             {"convert", longer, "net.onnx", "--out-dir", "net.onnx"},
                                             {"convert", "--list-passes"},
                                             {"verify", longer, "b.onnx", "--proof"},
                                             {"verify", "--suite", "tree", "--list"},
                                             {"diff", longer, "b.onnx"},
                                             {"report", "show", "report.json"},
                                             {"report", "merge", "report.json"},
                                             {"convert", "--help"},
                                             {"verify", "--help"},
                                             {"inspect", "--help"},
                                             {"profile", "--help"},
                                             {"diff", "--help"},
                                             {"report", "--help"},
                                             {"--help"}}) {
    all += show(arguments) + "\n";
  }
  EXPECT_TRUE(is_golden(without_times(all), golden("screens/" + std::to_string(GetParam()) + ".txt")));
  expect_fits(all);
}

/// Figures of rounding and versions, which differ between processors and systems.
std::string without_figures(const std::string& text) {
  std::string out = std::regex_replace(without_times(text), std::regex("[0-9]\\.[0-9]e[-+][0-9]{2}"), "#.#e-##");
  out = std::regex_replace(out, std::regex("ratio( |\n *)[0-9.,]+"), "ratio$1#");
  return std::regex_replace(out, std::regex("(oneDNN( |\n *))[0-9.]+"), "$1#");
}

TEST_P(Screens, OfVerifyAreGolden) {
  const std::string longer = "densely_connected_network_with_a_name.onnx";
  ASSERT_EQ(run({"convert", longer, "-o", "b.onnx"}).code, 0);
  write_broken(longer, "broken.onnx");
  std::string all;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"verify", longer, "b.onnx", "--threads", "1"},
                                             {"verify", longer, "b.onnx", "--threads", "1", "--layers"},
                                             {"verify", longer, "broken.onnx", "--threads", "1"},
                                             {"verify", longer, "broken.onnx", "--threads", "1", "-q"},
                                             {"verify", longer, longer},
                                             {"verify", "--original", longer, "b.onnx", "broken.onnx", "--threads", "1"}}) {
    all += show(arguments) + "\n";
  }
  EXPECT_TRUE(is_golden(without_figures(all), golden("screens/verify_" + std::to_string(GetParam()) + ".txt")));
  expect_fits(all);
}

/// Output with times or with last bits that depend on the processor's instructions: no picture, but the same width limit.
TEST_P(Screens, OfRunsFitTheTerminal) {
  const std::string longer = "densely_connected_network_with_a_name.onnx";
  ASSERT_EQ(run({"convert", longer, "-o", "b.onnx"}).code, 0);
  write_broken(longer, "broken.onnx");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"verify", longer, "b.onnx"},
                                             {"verify", longer, "b.onnx", "--layers"},
                                             {"verify", longer, "broken.onnx", "-v"},
                                             {"verify", longer, "b.onnx", "--save-data", "tree/case"},
                                             {"verify", "broken.onnx", "--data", "tree/case"},
                                             {"verify", "--original", longer, "b.onnx", "broken.onnx"},
                                             {"verify", "--suite", ".", "--against", ".", "--pair", "b.onnx"},
                                             {"profile", longer, "--repeat", "3", "--threads", "1"},
                                             {"profile", longer, "--repeat", "3", "--threads", "1", "--reference-columns"},
                                             {"profile", longer, "b.onnx", "--repeat", "3", "--threads", "1"},
                                             {"profile", longer, "--repeat", "3", "--threads", "1,2"},
                                             {"profile", longer, "--repeat", "3", "--threads", "1", "--trace", "a.json"},
                                             {"profile", "b.onnx", "--repeat", "3", "--threads", "1", "--trace", "b.json"},
                                             {"diff", "a.json", "b.json"}}) {
    expect_fits(show(arguments));
  }
}

TEST_P(Screens, AreAsciiInAsciiLocales) {
  for (const char* const command : {"inspect", "convert"}) {
    const std::string text = show({command, "net.onnx"}, "C");
    for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80U) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, Screens, testing::Values(60, 80, 120));

}  // namespace
}  // namespace relayout::test
