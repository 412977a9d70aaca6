// Tests real runs: rows against the plan, unspecified sizes, pairs, annotated models.
#include "relayout/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/types.h"
#include "support/model_cache.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ProfileTest : public testing::Test {
 protected:
  std::filesystem::path save(const TextModel& model, const std::string& name = "net.onnx") {
    write_file(folder_ / name, model.bytes());
    return folder_ / name;
  }
  static ProfileOptions few_runs() {
    ProfileOptions options;
    options.repeat = 8;
    options.threads = 1;
    return options;
  }
  TemporaryFolder folder_;
};

void expect_balance(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) {
    EXPECT_GE(row.us, 0) << row.node;
    sum += row.us;
  }
  EXPECT_NEAR(sum, profile.latency.us.median, 1e-9 * profile.latency.us.median);
}

TEST_F(ProfileTest, RowsAreTheStepsOfThePlan) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  for (const Mode mode : {Mode::optimized, Mode::as_written, Mode::reference}) {
    ProfileOptions options = few_runs();
    options.mode = mode;
    const Profile result = profile(folder_ / "net.onnx", options);
    EXPECT_EQ(result.latency.runs, 8);
    EXPECT_EQ(result.precision, "f32");
    EXPECT_GT(result.latency.plan_us, 0);
    EXPECT_GT(result.latency.first_us, 0);
    EXPECT_EQ(result.context.threads, 1);
    EXPECT_EQ(result.macs, 4 * 3 * 9 * 8 * 8);
    expect_balance(result);
    std::vector<std::string> nodes;
    for (const ProfileRow& row : result.rows) {
      nodes.push_back(row.op_type);
      for (const std::string& name : row.absorbed) nodes.push_back(name);
    }
    if (mode == Mode::optimized) continue;
    EXPECT_THAT(nodes, testing::IsSupersetOf({"Conv", "BatchNormalization", "Relu"}));
  }
}

/// Batches of one and sizes that the model accepts; guesses are reported.
TEST_F(ProfileTest, ProductsOfRecurrentOperatorsCount) {
  write_file(folder_ / "lstm.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[5,2,8] x, float[1,24,8] w, float[1,24,6] r) => (float[5,1,2,6] y) { y = LSTM <hidden_size = 6> (x, w, r) })");
  for (const Mode mode : {Mode::optimized, Mode::as_written, Mode::reference}) {
    ProfileOptions options = few_runs();
    options.mode = mode;
    EXPECT_EQ(profile(folder_ / "lstm.onnxtxt", options).macs, 5 * 2 * 4 * 6 * (8 + 6)) << "steps · sequences · gates · hidden · factors";
  }
}

TEST_F(ProfileTest, GuessesBatchesOfOne) {
  const auto path = save(TextModel("g (float[N,4] x) => (float[N,4] y) {\ny = Relu (x)\n}"));
  const Profile guessed = profile(path, few_runs());
  EXPECT_EQ(guessed.inputs.at("x"), (Dims{1, 4}));
  EXPECT_THAT(guessed.assumed, ElementsAre("N = 1"));
  ProfileOptions given = few_runs();
  given.dims["N"] = 5;
  const Profile five = profile(path, given);
  EXPECT_EQ(five.inputs.at("x"), (Dims{5, 4}));
  EXPECT_TRUE(five.assumed.empty());
}

TEST_F(ProfileTest, ErrorsNameTheFile) {
  const auto path = save(TextModel("g (float[2,3] x, float[4,5] z) => (float[2,5] y) {\ny = MatMul (x, z)\n}"));
  try {
    (void)profile(path, few_runs());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("net.onnx"));
  }
  const auto unknown = save(TextModel("g (float[2] x) => (float[2] y) {\ny = Nothing (x)\n}"), "unknown.onnx");
  EXPECT_THROW((void)profile(unknown, few_runs()), Error);
}

TEST_F(ProfileTest, StopsWhenTheIntervalIsNarrow) {
  const auto path = save(TextModel("g (float[512,512] x) => (float[512,512] y) {\ny = MatMul (x, x)\n}"));
  ProfileOptions options;
  options.threads = 1;
  options.until = 10;  // a thousand percent: the first look ends it
  const Profile narrow = profile(path, options);
  EXPECT_EQ(narrow.latency.runs, 10);
  EXPECT_FALSE(narrow.latency.stopped_early);
  options.until = 1e-12;
  options.max_seconds = 0.05;
  const Profile stopped = profile(path, options);
  EXPECT_TRUE(stopped.latency.stopped_early);
  EXPECT_GE(stopped.latency.runs, 10);
}

TEST_F(ProfileTest, PairsTakeTurns) {
  const auto path = save(TextModel("g (float[64,64] x) => (float[64,64] y) {\ny = MatMul (x, x)\n}"));
  ProfileOptions options = few_runs();
  options.repeat = 40;
  const ProfileComparison result = profile(path, path, options);
  EXPECT_EQ(result.pairs, 40);
  EXPECT_EQ(result.rounds, 10);
  EXPECT_EQ(result.a.latency.runs, 40);
  EXPECT_EQ(result.b.latency.runs, 40);
  EXPECT_EQ(result.clock, TimeKind::processor);
  ASSERT_TRUE(result.ratio.interval);
  EXPECT_LE(result.ratio.interval->low, result.ratio.median);
  double sum = 0;
  for (const ProfileRow& row : result.a.rows) sum += row.us;
  EXPECT_NEAR(sum, result.a.total_us, 1e-9 * sum);
  EXPECT_NEAR(result.b.total_us / result.a.total_us, result.ratio.median, 1e-9) << "what is attributed is the difference of the pairs";
}

TEST_F(ProfileTest, AnnotatesNodes) {
  save_model(conv_batch_norm(), folder_ / "net.onnx");
  const Profile result = profile(folder_ / "net.onnx", few_runs());
  annotate(folder_ / "net.onnx", result, folder_ / "times.onnx");
  onnx::ModelProto annotated = load_model(folder_ / "times.onnx");
  std::map<std::string, std::vector<std::string>> keys;
  for (auto& node : *annotated.mutable_graph()->mutable_node()) {
    for (const auto& entry : node.metadata_props()) keys[node.op_type()].push_back(entry.key());
    node.clear_metadata_props();
  }
  EXPECT_THAT(keys["Conv"], ElementsAre("relayout.time_us", "relayout.share", "relayout.layout", "relayout.implementation"));
  for (const auto& [op, names] : keys) EXPECT_FALSE(names.empty()) << op;
  // Metadata of nodes exists since IR version 10.
  EXPECT_EQ(annotated.ir_version(), 10);
  annotated.set_ir_version(load_model(folder_ / "net.onnx").ir_version());
  EXPECT_EQ(annotated.SerializeAsString(), load_model(folder_ / "net.onnx").SerializeAsString()) << "nothing else changes";
}

TEST_F(ProfileTest, AnnotatesNoModelWhoseInitializersWouldBecomeDefaults) {
  onnx::ModelProto model = conv_batch_norm();
  model.set_ir_version(3);
  for (const auto& initializer : model.graph().initializer()) {
    auto* const input = model.mutable_graph()->add_input();
    input->set_name(initializer.name());
    auto* const type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(initializer.data_type());
    for (const int64_t dim : initializer.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  save_model(model, folder_ / "old.onnx");
  const Profile result = profile(folder_ / "old.onnx", few_runs());
  try {
    annotate(folder_ / "old.onnx", result, folder_ / "times.onnx");
    FAIL() << "must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("IR version 3"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "times.onnx"));
}

/// On every real model, rows add up, and each timed node is one of the model's.
TEST(SlowProfile, BooksBalanceOnAllModels) {
  const auto models = cached_models();
  if (models.empty()) GTEST_SKIP() << kNoModels;
  for (const auto& path : models) {
    ProfileOptions options;
    options.repeat = 10;
    const Profile result = profile(path, options);
    expect_balance(result);
    EXPECT_GT(result.rows.size(), 5U) << path;
    EXPECT_LT(result.rows.back().share, 0.1) << path << ": the executor's own time";
  }
}

}  // namespace
}  // namespace relayout::test
