// Tests `convert --suite`: whole trees, in parts.
#include <cstddef>
#include <set>

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
  // Its results are the models that verify pairs.
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

// More models than are converted before the first one reports.
TEST_F(ConvertTree, SeveralAtOnceAreReportedInOrder) {
  fs::remove_all(folder_ / "in");
  fs::create_directory(folder_ / "in");
  std::vector<std::string> names;
  for (int i = 10; i < 50; ++i) {
    names.push_back("in/m" + std::to_string(i) + ".onnx");
    onnx::ModelProto model = conv_batch_norm();
    if (i % 15 == 0) add_node(*model.mutable_graph(), "Thing" + std::to_string(i), {"y"}, {"z"});
    save_model(model, folder_ / names.back());
  }
  write_file(folder_ / names[7], "no model");
  const auto converted = [&](const char* threads) {
    const ProcessResult result = run({"convert", "--suite", "in", "--out-dir", "out", "--json", "--threads", threads});
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(outputs().size(), 39U);
    const Json models = *Json::parse(result.out, "report").find("models");
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(models.at(i)->find("input")->text(), names[i]);
    return result.err;
  };
  const std::string messages = converted("1");
  EXPECT_THAT(messages, HasSubstr("Thing15"));
  EXPECT_EQ(converted("2"), messages);
}

TEST_F(ConvertTree, ResultsAreNoOriginals) {
  fs::create_directory(folder_ / "in/out");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run({"convert", "--suite", "in", "--out-dir", "in/out"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "in/out/out"));
  expect_refusal(run({"convert", "--suite", "in", "--out-dir", "in/../in"}), 2, "one folder");
  expect_refusal(run({"convert", "--suite", "in"}), 2, "--out-dir");
  expect_refusal(run({"convert", "--suite", "in", "a.onnx", "--out-dir", "out"}), 2, "takes its models from the tree");
  expect_refusal(run({"convert", "--suite", "nothing", "--out-dir", "out"}), 5, "nothing: no such folder");
  expect_refusal(run({"convert", "--suite", "out", "--out-dir", "in"}), 3, "no .onnx file below it");
}

TEST_F(ConvertTree, CollidingOutputsAreRefused) {
  save_model(conv_batch_norm(), folder_ / "in/v/b.cl.onnx");
  expect_refusal(run({"convert", "--suite", "in", "--out-dir", "out"}), 2, "two models would become 'out/v/b.cl.onnx'");
  expect_refusal(run({"convert", "in/v/b.onnx", "in/v/b.cl.onnx", "--out-dir", "out"}), 2, "two models would become 'out/b.cl.onnx'");
  expect_refusal(run({"convert", "in/a.onnx", "in/v/deep/a.onnx", "--out-dir", "out"}), 2, "two models would become 'out/a.cl.onnx'");
  EXPECT_THAT(outputs(), testing::IsEmpty());
}

TEST_F(ConvertTree, ACacheSkipsExistingResults) {
  const auto from_cache = [this](std::vector<std::string> more) {
    std::vector<std::string> command{"convert", "--suite", "in", "--out-dir", "out", "--cache", "cache", "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult result = run(command);
    EXPECT_EQ(result.code, 0) << result.err;
    const Json models = Json::parse(result.out, "report").find("models").value();
    std::set<std::string> out;
    for (std::size_t i = 0; i < models.size(); ++i) {
      EXPECT_TRUE(models.at(i)->find("findings"));
      if (models.at(i)->find("source")) out.insert(models.at(i)->find("output")->text().value());
    }
    return out;
  };
  EXPECT_THAT(from_cache({}), ElementsAre());
  EXPECT_THAT(from_cache({}), ElementsAre("out/a.cl.onnx", "out/v/b.cl.onnx", "out/v/deep/a.cl.onnx", "out/w/c.cl.onnx"));
  EXPECT_THAT(from_cache({"--threads", "1", "--case", "a.onnx"}), ElementsAre("out/a.cl.onnx")) << "results do not depend on threads";
  // A different model, a missing result, a changed result.
  onnx::ModelProto other = conv_batch_norm();
  other.set_producer_name("another");
  save_model(other, folder_ / "in/a.onnx");
  fs::remove(folder_ / "out/v/b.cl.onnx");
  write_file(folder_ / "out/w/c.cl.onnx", "something else");
  EXPECT_THAT(from_cache({}), ElementsAre("out/v/deep/a.cl.onnx"));
  EXPECT_EQ(from_cache({}).size(), 4U);
  // Other options.
  EXPECT_THAT(from_cache({"--layout", "keep"}), ElementsAre());
  EXPECT_EQ(from_cache({"--layout", "keep"}).size(), 4U);
  EXPECT_THAT(from_cache({}), ElementsAre()) << "other results lie there now";
  // Damaged entries count as missing.
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
    if (entry.is_regular_file()) write_file(entry.path(), "{}");
  }
  EXPECT_THAT(from_cache({}), ElementsAre());
  EXPECT_THAT(run({"convert", "--suite", "in", "--out-dir", "out", "--cache", "cache"}).out,
              HasSubstr("in/v/b.onnx → out/v/b.cl.onnx   converted before, nothing has changed"));
}

TEST_F(ConvertTree, ACacheKnowsDataFiles) {
  const std::vector<std::string> command{"convert", "in/a.onnx", "-o", "x.onnx", "--external-data", "always:1", "--cache", "cache"};
  EXPECT_EQ(run(command).code, 0);
  EXPECT_THAT(run(command).out, HasSubstr("converted before"));
  write_file(folder_ / "x.onnx.data", "too short");
  EXPECT_THAT(run(command).out, ::testing::Not(HasSubstr("converted before")));
  EXPECT_GT(fs::file_size(folder_ / "x.onnx.data"), 9U);
}

TEST_F(ConvertTree, ACacheNeedsFiles) {
  expect_refusal(run({"convert", "in/a.onnx", "-o", "-", "--cache", "cache"}), 2, "--cache is for files");
  expect_refusal(run({"convert", "in/a.onnx", "--in-place", "--cache", "cache"}), 2, "--cache");
  write_file(folder_ / "in/v/b.onnx", "no model");
  expect_refusal(run({"convert", "in/v/b.onnx", "--cache", "cache"}), 3, "in/v/b.onnx");
  write_file(folder_ / "file", "");
  expect_refusal(run({"convert", "in/a.onnx", "--cache", "file"}), 5, "file");
}

}  // namespace
}  // namespace relayout::test
