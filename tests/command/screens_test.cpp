// What terminals of 60, 80 and 120 columns show, against pictures in testdata/golden/screens.
#include <sstream>
#include <string>
#include <vector>

#include "command/command_test.h"
#include "report/table.h"

namespace relayout::test {
namespace {

class Screens : public CommandTest, public testing::WithParamInterface<int> {
 protected:
  /// The same net with names as exporters make them.
  Screens() {
    onnx::ModelProto model = conv_batch_norm();
    const std::string scope = "/features/denseblock1/denselayer1/transition/";
    for (auto& node : *model.mutable_graph()->mutable_node()) {
      node.set_name(scope + node.op_type());
    }
    save_model(model, folder_ / "densely_connected_network_with_a_name.onnx");
    save_model(conv_batch_norm(), folder_ / "net.onnx");
  }

  std::string show(const std::vector<std::string>& arguments, const std::string& locale = "C.UTF-8") {
    const ProcessOptions terminal{.environment = {{"COLUMNS", std::to_string(GetParam())}, {"TERM", "dumb"}, {"LC_ALL", locale}},
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
  const std::string longer = "densely_connected_network_with_a_name.onnx";
  std::string all;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"inspect", longer},
                                             {"inspect", longer, "-v"},
                                             {"inspect", longer, "--layout"},
                                             {"inspect", longer, "net.onnx"},
                                             {"convert", longer, "-o", "b.onnx"},
                                             {"convert", longer, "-o", "c.onnx", "--exclude", "*Batch*"},
                                             {"verify", longer, "b.onnx", "--proof"},
                                             {"verify", "--help"},
                                             {"--help"}}) {
    all += show(arguments) + "\n";
  }
  EXPECT_TRUE(is_golden(without_times(all), golden("screens/" + std::to_string(GetParam()) + ".txt")));
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.find("relayout") != std::string::npos || line.ends_with("\\") || line.starts_with("    ");
    if (is_command) continue;
    EXPECT_LE(display_width(line), static_cast<std::size_t>(GetParam())) << line;
  }
}

TEST_P(Screens, AreAsciiWhereTheLocaleHasNothingElse) {
  for (const char* const command : {"inspect", "convert"}) {
    const std::string text = show({command, "net.onnx"}, "C");
    for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80U) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, Screens, testing::Values(60, 80, 120));

}  // namespace
}  // namespace relayout::test
