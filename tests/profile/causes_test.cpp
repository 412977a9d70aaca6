// Tests the causes of different times of two models: each by an example, and all of them add up.
#include "profile/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/model_diff.h"
#include "relayout/profile.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::DoubleNear;

ProfileRow row(const std::string& node, double us, const std::vector<std::string>& absorbed = {}) {
  ProfileRow out;
  out.node = node;
  out.op_type = "Conv";
  out.absorbed = absorbed;
  out.layout = "contiguous";
  out.implementation = "own";
  out.steps = 1;
  out.us = us;
  return out;
}

Profile with(std::vector<ProfileRow> rows) {
  ProfileRow executor = row("(executor)", 1);
  executor.steps = 0;
  rows.push_back(executor);
  Profile out;
  for (const ProfileRow& each : rows) out.total_us += each.us;
  out.rows = std::move(rows);
  return out;
}

/// Causes by the name of the node, and the sum of all differences.
std::map<std::string, Cause> causes_of(const Profile& a, const Profile& b, const std::unordered_set<std::string>& explained = {}) {
  std::map<std::string, Cause> out;
  double sum = 0;
  std::vector<int> seen_a(a.rows.size()), seen_b(b.rows.size());
  for (const PairedRow& pair : pair_rows(a, b, {.names = {}, .paired = {}, .explained = explained, .absorbers = {}})) {
    out[pair.a ? a.rows[*pair.a].node : b.rows[*pair.b].node] = pair.cause;
    sum += pair.difference_us;
    if (pair.a) ++seen_a[*pair.a];
    if (pair.b) ++seen_b[*pair.b];
  }
  EXPECT_THAT(sum, DoubleNear(b.total_us - a.total_us, 1e-9));
  EXPECT_THAT(seen_a, testing::Each(1));
  EXPECT_THAT(seen_b, testing::Each(1));
  return out;
}

TEST(Causes, RemovedNodes) {
  const Profile a = with({row("conv", 10), row("bn", 5), row("relu", 3), row("lost", 2)});
  const Profile b = with({row("conv", 9, {"relu"}), row("new", 4)});
  const auto causes = causes_of(a, b, {"bn"});
  EXPECT_EQ(causes.at("conv"), Cause::fused);
  EXPECT_EQ(causes.at("bn"), Cause::folded);
  EXPECT_EQ(causes.at("relu"), Cause::fused);
  EXPECT_EQ(causes.at("lost"), Cause::removed);
  EXPECT_EQ(causes.at("new"), Cause::added);
  EXPECT_EQ(causes.at("(executor)"), Cause::unexplained);
}

/// The cost added to the convolution that absorbs the normalization is part of folding.
TEST(Causes, FoldsIncludeTheNodeThatHoldsThem) {
  const Profile a = with({row("conv", 10), row("bn", 5), row("relu", 3)}), b = with({row("conv", 11), row("relu", 2)});
  const auto pairs = pair_rows(a, b, {.names = {}, .paired = {"conv", "relu"}, .explained = {"bn"}, .absorbers = {"conv"}});
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[0].cause, Cause::folded);
  EXPECT_EQ(pairs[1].cause, Cause::folded);
  EXPECT_EQ(pairs[2].cause, Cause::unexplained);
}

ProfileRow inner_row(const std::string& node, double us, const std::vector<std::string>& callers,
                     const std::vector<std::string>& absorbed = {}) {
  ProfileRow out = row(node, us, absorbed);
  out.callers = callers;
  return out;
}

/// Nodes within a function or a Loop are matched by the calling node, whatever other nodes have their name.
TEST(Causes, InnerNodesGoByTheirCaller) {
  const Profile a = with({row("t", 4), inner_row("t", 10, {"call"}, {"call › u", "relu"}), inner_row("t", 5, {"loop"}), row("loop", 1)});
  Profile b = with({row("t", 3), inner_row("t", 8, {"other"}, {"other › u"}), row("relu", 2), inner_row("t", 6, {"loop"}), row("loop", 1)});
  const std::vector<PairedRow> pairs =
      pair_rows(a, b, {.names = {{"other", "call"}}, .paired = {"call", "loop", "t", "relu"}, .explained = {}, .absorbers = {}});
  const auto of_a = [&](std::size_t number) { return *std::ranges::find(pairs, std::optional(number), &PairedRow::a); };
  EXPECT_EQ(of_a(0).b, 0U);
  EXPECT_EQ(of_a(1).b, 1U);
  EXPECT_EQ(of_a(1).cause, Cause::fused) << "relu is a row of its own";
  EXPECT_EQ(of_a(2).b, 3U);
  EXPECT_EQ(of_a(2).cause, Cause::unexplained);
  EXPECT_EQ(of_a(3).b, 4U);
  EXPECT_EQ(pairs.back().b, 2U);
  EXPECT_EQ(pairs.back().cause, Cause::fused);
}

/// A normalization that ran within its convolution and is missing from the second model.
TEST(Causes, AbsorbedNodesCount) {
  EXPECT_EQ(causes_of(with({row("conv", 10, {"bn", "relu"})}), with({row("conv", 8, {"relu"})}), {"bn"}).at("conv"), Cause::folded);
  EXPECT_EQ(causes_of(with({row("conv", 10, {"relu"})}), with({row("conv", 8, {"relu", "add"})})).at("conv"), Cause::added);
}

TEST(Causes, LayoutKernelAndCopies) {
  ProfileRow last = row("conv", 8), fast = row("conv", 8), reorder = row("conv", 2);
  last.layout = "channels-last";
  fast.implementation = "jit";
  reorder.kind = StepKind::reorder;
  reorder.op_type = "Reorder";
  EXPECT_EQ(causes_of(with({row("conv", 10)}), with({last})).at("conv"), Cause::layout);
  EXPECT_EQ(causes_of(with({row("conv", 10)}), with({fast})).at("conv"), Cause::kernel);
  EXPECT_EQ(causes_of(with({row("conv", 10)}), with({row("conv", 8)})).at("conv"), Cause::unexplained);
  const Profile a = with({row("conv", 10)}), b = with({reorder, row("conv", 7)});
  const std::vector<PairedRow> pairs = pair_rows(a, b, {});
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs.back().cause, Cause::reorder);
  EXPECT_THAT(pairs.back().difference_us, DoubleNear(2, 1e-9));
}

/// The same nodes under other names, as the comparison of the models matches them.
TEST(Causes, NodesMayBeRenamed) {
  const Profile a = with({row("conv", 10), row("bn", 5), row("relu", 3)}), b = with({row("z1", 9, {"z2"}), row("relu", 4)});
  const NodeLinks links{.names = {{"z1", "conv"}, {"z2", "relu"}, {"relu", "relu\n"}}, .paired = {}, .explained = {"bn"}};
  std::map<Cause, double> sums;
  for (const PairedRow& pair : pair_rows(a, b, links)) sums[pair.cause] += pair.difference_us;
  EXPECT_THAT(sums[Cause::fused], DoubleNear(9 - 10 - 3, 1e-9));
  EXPECT_THAT(sums[Cause::folded], DoubleNear(-5, 1e-9));
  EXPECT_THAT(sums[Cause::added], DoubleNear(4, 1e-9));
}

/// A node of the second model that is not timed, because it is only a different view of its operand.
TEST(Causes, NodesThatDoNotRun) {
  const Profile a = with({row("conv", 10), row("flat", 5)}), b = with({row("conv", 10)});
  for (const PairedRow& pair : pair_rows(a, b, {.names = {}, .paired = {"flat"}, .explained = {}})) {
    EXPECT_EQ(pair.cause, pair.b ? Cause::unexplained : Cause::kernel);
  }
}

/// Two models of different nodes, some with the same names: nothing is folded or fused, and the books balance all the same.
TEST(Causes, UnrelatedModelsAreNotJoined) {
  const char* const a = R"(g (float[1,8,16,16] x) => (float[1,8,16,16] y) <float[8,8,3,3] w> {
    c = Conv <pads = [1, 1, 1, 1]> (x, w)
    r = Relu (c)
    y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (r)
  })";
  const char* const b = R"(g (float[1,8,16,16] x) => (float[1,8,16,16] y) {
    s = Sigmoid (x)
    m = Mul (s, x)
    t = Tanh (m)
    e = Exp (t)
    y = Softmax (e)
  })";
  const TemporaryFolder folder;
  write_file(folder / "a.onnx", TextModel(a).name_nodes().bytes());
  write_file(folder / "b.onnx", TextModel(b).name_nodes().bytes());
  const ModelDiff diff = diff_models(*Model::load(folder / "a.onnx"), *Model::load(folder / "b.onnx"));
  EXPECT_FALSE(diff.is_related()) << diff.share_in_common();
  const Profile of_a = with({row("n0", 10, {"n1"}), row("n2", 5)}), of_b = with({row("n0", 3), row("n1", 4)});
  const ProfileComparison comparison = compare_profiles(of_a, of_b, diff);
  EXPECT_FALSE(comparison.is_related);
  EXPECT_LT(comparison.common, 0.5);
  EXPECT_TRUE(comparison.folded.empty());
  double sum = 0;
  for (const PairedRow& pair : comparison.rows) {
    sum += pair.difference_us;
    EXPECT_EQ(pair.cause, pair.a && pair.b ? Cause::unexplained : pair.a ? Cause::removed : Cause::added);
  }
  EXPECT_EQ(comparison.rows.size(), 5U);
  EXPECT_THAT(sum, DoubleNear(of_b.total_us - of_a.total_us, 1e-9));
  EXPECT_THAT(comparison.ratio.median, DoubleNear(8.0 / 16, 1e-9));
}

/// Nodes of one name pair in their order.
TEST(Causes, NamesMayRepeat) {
  const Profile a = with({row("call", 1), row("call", 2)}), b = with({row("call", 10), row("call", 20), row("call", 30)});
  std::vector<double> differences;
  for (const PairedRow& pair : pair_rows(a, b, {})) differences.push_back(pair.difference_us);
  EXPECT_THAT(differences, testing::ElementsAre(9, 18, 0, 30));
}

/// Real files: nodes folded by convert are folded and proved; nodes cut out of a model are removed.
TEST(Causes, OfRealModels) {
  const TemporaryFolder folder;
  const std::string body = R"(g (float[1,8,16,16] x) => (float[1,8,16,16] y) <float[8,8,3,3] w> {
    c = Conv <pads = [1, 1, 1, 1]> (x, w)
    r = Relu (c)
    y = Sigmoid (r)
  })";
  write_file(folder / "a.onnx", TextModel(body).name_nodes().bytes());
  std::string shorter = body;
  shorter.replace(shorter.find("    r = Relu (c)\n"), 17, "");
  shorter.replace(shorter.find("Sigmoid (r)"), 11, "Sigmoid (c)");
  auto cut = TextModel(shorter);
  write_file(folder / "b.onnx", cut.edit([](onnx::ModelProto& model) {
                                     model.mutable_graph()->mutable_node(0)->set_name("Conv_0");
                                     model.mutable_graph()->mutable_node(1)->set_name("Sigmoid_2");
                                   })
                                    .bytes());
  ProfileOptions options;
  options.repeat = 6;
  options.threads = 1;
  options.mode = Mode::as_written;
  const ProfileComparison comparison = profile(folder / "a.onnx", folder / "b.onnx", options);
  EXPECT_FALSE(comparison.proved);
  bool found = false;
  for (const PairedRow& pair : comparison.rows) {
    if (!pair.a || comparison.a.rows[*pair.a].op_type != "Relu") continue;
    EXPECT_EQ(pair.cause, Cause::removed);
    found = true;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace relayout::test
