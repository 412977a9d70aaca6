// Tests the destinations of reports: paths are tried before the work, "-" is standard output, --json is a document on every exit.

#include "command/command_test.h"
#include "report/json.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DestinationsTest : public CommandTest {
 protected:
  DestinationsTest() {
    save_model(conv_batch_norm(), folder_ / "net.onnx");
    EXPECT_EQ(run({"convert", "net.onnx"}).code, 0);
  }
};

TEST_F(DestinationsTest, APathThatCannotBeWrittenIsFoundBeforeTheWork) {
  fs::create_directory(folder_ / "folder");
  for (const std::string option : {"--html", "--junit", "--markdown"}) {
    for (const std::string path : {"nodir/report", "folder"}) {
      const ProcessResult result = run({"verify", "net.onnx", "net.cl.onnx", option, path, "-v"});
      EXPECT_EQ(result.code, 5) << option;
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err, HasSubstr("relayout: " + path + ": cannot write: "));
    }
  }
  for (const std::string option : {"--html", "--dot"})
    expect_refusal(run({"inspect", "net.onnx", option, "nodir/plan"}), 5, "nodir/plan: cannot write");
  expect_refusal(run({"convert", "net.onnx", "-o", "nodir/x.onnx", "--dry-run"}), 5, "no such folder");
  EXPECT_THAT(folder_.entries(), testing::UnorderedElementsAre("net.onnx", "net.cl.onnx", "folder/"));
}

TEST_F(DestinationsTest, ADashIsStandardOutputAndMovesTheReportToStandardError) {
  const ProcessResult junit = run({"verify", "net.onnx", "net.cl.onnx", "--junit", "-"});
  EXPECT_TRUE(junit.out.starts_with("<?xml")) << junit.out;
  EXPECT_THAT(junit.err, HasSubstr("exit 0"));
  const ProcessResult page = run({"verify", "net.onnx", "net.cl.onnx", "--html", "-"});
  EXPECT_TRUE(page.out.starts_with("<!doctype html>"));
  const ProcessResult dot = run({"inspect", "net.onnx", "--dot", "-"});
  EXPECT_TRUE(dot.out.starts_with("digraph "));
  EXPECT_THAT(dot.err, HasSubstr("convolution"));
  EXPECT_FALSE(fs::exists(folder_ / "-"));
  expect_refusal(run({"verify", "net.onnx", "net.cl.onnx", "--junit", "-", "--html", "-"}), 2, "both want standard output");
  EXPECT_EQ(run({"inspect", "net.onnx", "--dot", "-", "--json"}).code, 2);
}

TEST_F(DestinationsTest, AModelOnStandardOutputHasItsReportOnStandardError) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"convert", "net.onnx"},
                                                                                     {"extract", "net.onnx"},
                                                                                     {"derive", "jvp", "net.onnx"},
                                                                                     {"merge", "ensemble", "net.onnx", "net.cl.onnx"}}) {
    std::vector<std::string> streamed = words, filed = words;
    streamed.insert(streamed.end(), {"-o", "-"});
    filed.insert(filed.end(), {"-o", "out.onnx"});
    const ProcessResult result = run(streamed);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("net.onnx")) << words.front();
    EXPECT_EQ(run(filed).code, 0);
    EXPECT_EQ(result.out, read_file(folder_ / "out.onnx")) << words.front();
    if (words.front() == "convert") continue;  // its line stays
    streamed.emplace_back("--quiet");
    EXPECT_EQ(run(streamed).err, "") << words.front();
  }
}

TEST_F(DestinationsTest, AModelIsNotWrittenToATerminal) {
  const ProcessResult result = run({"convert", "net.onnx", "-o", "-"}, {.terminal = true});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, HasSubstr("standard output is a terminal"));
}

TEST_F(DestinationsTest, JsonIsADocumentOnEveryExit) {
  write_file(folder_ / "bad.onnx", "no model");
  const std::vector<std::pair<std::vector<std::string>, int>> calls = {
      {{"inspect", "none.onnx", "--json"}, 5},
      {{"inspect", "bad.onnx", "--json"}, 3},
      {{"inspect", "net.onnx", "--json", "--nonsense"}, 2},
      {{"inspect", "net.onnx", "bad.onnx", "--json"}, 3},
      {{"verify", "net.onnx", "none.onnx", "--json"}, 5},
      {{"verify", "net.onnx", "--json"}, 2},
      {{"verify", "--suite", "none", "--json"}, 5},
      {{"convert", "none.onnx", "--json"}, 5},
      {{"convert", "net.onnx", "bad.onnx", "--json", "--out-dir", "."}, 3},
      {{"convert", "net.onnx", "--json", "-o", "nodir/x.onnx"}, 5},
      {{"frobnicate", "--json"}, 2},
      {{"verify", "net.onnx", "net.cl.onnx", "--json"}, 0},
      {{"convert", "--list-passes", "--json"}, 0},
      {{"inspect", "net.onnx", "--json"}, 0},
      {{"inspect", "net.onnx", "net.cl.onnx", "--json"}, 0},
      {{"profile", "net.onnx", "--repeat", "2", "--json"}, 0},
      {{"profile", "net.onnx", "--repeat", "2", "--threads", "1,2", "--json"}, 0},
      {{"profile", "net.onnx", "net.cl.onnx", "--repeat", "2", "--json"}, 0},
      {{"diff", "net.onnx", "net.cl.onnx", "--json"}, 0},
      {{"convert", "--suite", ".", "--list", "--json"}, 0},
      {{"--version", "--json"}, 0},
  };
  for (const auto& [arguments, code] : calls) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments[0] << " " << result.err;
    const Json document = Json::parse(result.out, "standard output");
    EXPECT_TRUE(document.find("schema")) << result.out;
    EXPECT_EQ(document.find("exit_code")->number(), code) << result.out;
  }
}

TEST_F(DestinationsTest, InspectOfSeveralIsATable) {
  write_file(folder_ / "bad.onnx", "no model");
  const ProcessResult result = run({"inspect", "net.onnx", "bad.onnx", "net.cl.onnx"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, HasSubstr("\nnet.onnx "));
  EXPECT_THAT(result.out, HasSubstr("\nnet.cl.onnx "));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("bad.onnx")));
  EXPECT_THAT(result.err, HasSubstr("bad.onnx"));
}

TEST_F(DestinationsTest, ProofRunsNothingAndStrictTrustsIt) {
  const ProcessResult proved = run({"verify", "net.onnx", "net.cl.onnx", "--proof"});
  EXPECT_EQ(proved.code, 0);
  EXPECT_THAT(proved.out, HasSubstr("nothing was run"));
  // One weight of a hundred off by 1e-4 of its value: the outputs hardly show it, the files do.
  onnx::ModelProto changed = load_model(folder_ / "net.cl.onnx");
  for (auto& tensor : *changed.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() > 100) (*tensor.mutable_raw_data())[1] = static_cast<char>(tensor.raw_data()[1] ^ 2);
  }
  save_model(changed, folder_ / "changed.onnx");
  EXPECT_EQ(run({"verify", "net.onnx", "changed.onnx", "--proof"}).code, 1);
  const ProcessResult strict = run({"verify", "net.onnx", "changed.onnx", "--strict"});
  EXPECT_EQ(strict.code, 1) << strict.out;
}

TEST_F(DestinationsTest, QuietIsTheVerdictAlone) {
  const ProcessResult result = run({"verify", "net.onnx", "net.cl.onnx", "-q"});
  EXPECT_EQ(line_count(result.out), 1U) << result.out;
  EXPECT_TRUE(result.out.starts_with("same ")) << result.out;
  EXPECT_EQ(line_count(run({"convert", "net.onnx", "-q"}).out), 1U);
}

}  // namespace
}  // namespace relayout::test
