// `convert --suite`: whole trees, in parts.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "command/command_test.h"
#include "report/json.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConvertTree : public CommandTest {
 protected:
  ConvertTree() {
    for (const char* const name : {"a", "v/b", "v/deep/a", "w/c"}) {
      fs::create_directories((folder_ / ("in/" + std::string(name))).parent_path());
      save_model(conv_batch_norm(), folder_ / ("in/" + std::string(name) + ".onnx"));
    }
    write_file(folder_ / "in/notes.txt", "no model");
    fs::create_directory(folder_ / "out");
  }
  std::multiset<std::string> outputs() {
    std::multiset<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "out")) {
      if (entry.is_regular_file()) out.insert(entry.path().lexically_relative(folder_ / "out").string());
    }
    return out;
  }
};

TEST_F(ConvertTree, KeepsItsFolders) {
  const ProcessResult result = run({"convert", "--suite", "in", "--out-dir", "out"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(outputs(), ElementsAre("a.cl.onnx", "v/b.cl.onnx", "v/deep/a.cl.onnx", "w/c.cl.onnx"));
  // What it writes is what verify pairs.
  EXPECT_THAT(run({"verify", "--suite", "in", "--against", "out", "--samples", "1"}).out, HasSubstr("4 of 4 cases passed"));
}

TEST_F(ConvertTree, PartsTogetherAreTheWhole) {
  for (const char* const shard : {"1/3", "2/3", "3/3"}) {
    EXPECT_EQ(run({"convert", "--suite", "in", "--out-dir", "out", "--shard", shard}).code, 0) << shard;
  }
  EXPECT_EQ(outputs().size(), 4U);
  EXPECT_EQ(run({"convert", "--suite", "in", "--list"}).out, "a.onnx\nv/b.onnx\nv/deep/a.onnx\nw/c.onnx\n");
  EXPECT_EQ(run({"convert", "--suite", "in", "--list", "--shard", "2/3"}).out, "v/b.onnx\n");
}

TEST_F(ConvertTree, ChosenModels) {
  EXPECT_EQ(run({"convert", "--suite", "in", "--out-dir", "out", "--case", "v/b.onnx"}).code, 0);
  EXPECT_THAT(outputs(), ElementsAre("v/b.cl.onnx"));
  expect_refusal(run({"convert", "--suite", "in", "--out-dir", "out", "--case", "../a.onnx"}), 2, "in has no '../a.onnx'");
  EXPECT_EQ(run({"convert", "--suite", "in", "--out-dir", "out", "--dry-run"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/w"));
}

TEST_F(ConvertTree, OneThatFailsDoesNotStopTheRest) {
  write_file(folder_ / "in/v/b.onnx", "no model");
  fs::remove(folder_ / "in/w/c.onnx");
  write_file(folder_ / "in/w/text.onnx", "no model");
  const ProcessResult result = run({"convert", "--suite", "in", "--out-dir", "out", "--json"});
  EXPECT_EQ(result.code, 3);
  EXPECT_FALSE(fs::exists(folder_ / "out/w")) << "a folder for nothing";
  EXPECT_EQ(Json::parse(result.out, "report").find("models")->size(), 4U);
  EXPECT_THAT(outputs(), ElementsAre("a.cl.onnx", "v/deep/a.cl.onnx"));
}

TEST_F(ConvertTree, ResultsAreNoOriginals) {
  fs::create_directory(folder_ / "in/out");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run({"convert", "--suite", "in", "--out-dir", "in/out"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "in/out/out"));
  expect_refusal(run({"convert", "--suite", "in", "--out-dir", "in/../in"}), 2, "one folder");
  expect_refusal(run({"convert", "--suite", "in"}), 2, "--out-dir");
  expect_refusal(run({"convert", "--suite", "in", "a.onnx", "--out-dir", "out"}), 2, "stands alone");
  expect_refusal(run({"convert", "--suite", "nothing", "--out-dir", "out"}), 5, "nothing: not a directory");
  expect_refusal(run({"convert", "--suite", "out", "--out-dir", "in"}), 3, "no .onnx below it");
}

}  // namespace
}  // namespace relayout::test
