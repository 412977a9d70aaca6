// Tests the descriptions of a plan's steps and their times: names of all nodes, bytes, multiply-accumulates, memory in use, times.
#include <gmock/gmock.h>

#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

Tensor ones(const Dims& dims) {
  return tensor_of(dims, std::vector<float>(static_cast<std::size_t>(element_count(dims)), 1));
}

std::vector<StepInfo> kept(const std::vector<StepInfo>& steps, StepKind kind) {
  std::vector<StepInfo> out;
  std::ranges::copy_if(steps, std::back_inserter(out), [&](const StepInfo& step) { return step.kind == kind; });
  return out;
}

ExecuteOptions in_mode(Mode mode) {
  ExecuteOptions options;
  options.mode = mode;
  return options;
}

ExecuteOptions channels_last() {
  ExecuteOptions options;
  options.layout = LayoutChoice::always;
  return options;
}

TextModel network() {
  return TextModel(R"(g (float[1,8,16,16] x) => (float[1,1024] y) <float[16,8,3,3] w, float[16] b> {
    c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
    r = Relu (c)
    p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
    s = Softmax (p)
    y = Flatten (s)
  })")
      .name_nodes();
}

TEST(StepInfo, NamesAbsorbedNodes) {
  const auto model = network().load();
  Executor executor(model->graph(), {});
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const auto steps = kept(executor.plan_info().steps, StepKind::node);
  ASSERT_FALSE(steps.empty());
  const StepInfo& convolution = steps.front();
  EXPECT_EQ(convolution.node, "Conv_0");
  EXPECT_THAT(convolution.absorbed, ElementsAre("Relu_1"));
  EXPECT_THAT(convolution.operators, ElementsAre("Conv", "Relu"));
  EXPECT_THAT(convolution.inputs, ElementsAre(Dims{1, 8, 16, 16}, Dims{16, 8, 3, 3}, Dims{16}));
  EXPECT_EQ(convolution.macs, 16 * 16 * 16 * 8 * 9);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i].macs, 0) << steps[i].node;
}

/// Two convolutions whose channels a Concat joins, followed by a BatchNormalization and a function.
TEST(StepInfo, ConvolutionsAbsorbNodesDownstreamOfTheirConcat) {
  ModelBuilder builder;
  builder.input("x", {1, 8, 16, 16}).constant("n", {24}, std::vector<float>(24, 1));
  builder.constant("v", {16, 8, 1, 1}, std::vector<float>(128, 1)).constant("w", {8, 1, 3, 3}, std::vector<float>(72, 1));
  builder.node("Conv", {"x", "v"}, {"a"});
  builder.node("Conv", {"x", "w"}, {"b"}).integers("pads", {1, 1, 1, 1}).integer("group", 8);
  builder.node("Concat", {"a", "b"}, {"c"}).integer("axis", 1);
  builder.node("BatchNormalization", {"c", "n", "n", "n", "n"}, {"d"}).node("Relu", {"d"}, {"y"}).output("y");
  const auto model = builder.build();
  Executor executor(model->graph(), channels_last());
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const auto steps = kept(executor.plan_info().steps, StepKind::node);
  ASSERT_EQ(steps.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(steps[i].op_type, "Conv + BatchNormalization + Relu");
    EXPECT_THAT(steps[i].absorbed, ElementsAre("BatchNormalization_4", "Relu_5"));
  }
  EXPECT_EQ(steps[2].op_type, "Concat");
  EXPECT_THAT(steps[2].absorbed, ElementsAre());
}

/// The sum adds the same number to each element.
TEST(StepInfo, ASumWithANumberIsPartOfItsConvolution) {
  const auto model = TextModel(R"(g (float[1,8,16,16] x) => (float[1,8,16,16] y) <float[8,8,1,1] w, float three = {3}> {
    a = Conv (x, w)
    b = Sub (three, a)
    y = Relu (b)
  })")
                         .name_nodes()
                         .load();
  Executor executor(model->graph(), channels_last());
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const auto steps = kept(executor.plan_info().steps, StepKind::node);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].op_type, "Conv + Sub + Relu");
}

/// x · sigmoid(x) is one function, also downstream of another one.
TEST(StepInfo, AGateIsPartOfItsStep) {
  const auto model = TextModel(R"(g (float[1,8,16,16] x) => (float[1,8,16,16] y) <float[8,1,1] n> {
    a = Mul (x, n)
    b = Sigmoid (a)
    y = Mul (b, a)
  })")
                         .name_nodes()
                         .load();
  Executor executor(model->graph(), {});
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const auto steps = kept(executor.plan_info().steps, StepKind::node);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].op_type, "Mul + Sigmoid + Mul");
}

/// A mask and factors per column, as derivatives have them, are one step; of rows side by side.
TEST(StepInfo, AMaskIsPartOfItsStep) {
  const auto model = TextModel(R"(g (float[3,5,40] x) => (float[3,5,40] y) <float six = {6.0}, float[40] n> {
    a = Sub (six, x)
    b = Mul (a, x)
    c = Cast <to = 9> (b)
    d = Cast <to = 1> (c)
    y = Mul (d, n)
  })")
                         .name_nodes()
                         .load();
  Tensor x(DataType::float32, {3, 5, 40});
  for (int64_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = static_cast<float>(i % 9 - 1);
  Executor executor(model->graph(), {}), as_written(model->graph(), in_mode(Mode::as_written));
  const auto out = executor.run({{"x", x}}), wanted = as_written.run({{"x", x}});
  EXPECT_EQ(values_of(out[0].tensor), values_of(wanted[0].tensor));
  const auto steps = kept(executor.plan_info().steps, StepKind::node);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].op_type, "Sub + Mul + Cast + Cast + Mul");
}

/// As written: bytes of operands and of live values in the arena, counted by hand.
TEST(StepInfo, CountsBytes) {
  const auto model = network().load();
  Executor executor(model->graph(), in_mode(Mode::as_written));
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const PlanInfo info = executor.plan_info();
  const auto steps = kept(info.steps, StepKind::node);
  ASSERT_EQ(steps.size(), 4U);
  const int64_t image = int64_t{16} * 16 * 16 * 4, pooled = image / 4;
  EXPECT_EQ(steps[1].op_type, "Relu");
  EXPECT_EQ(steps[1].bytes, 2 * image);
  EXPECT_EQ(steps[2].op_type, "MaxPool");
  EXPECT_EQ(steps[2].bytes, image + pooled);
  EXPECT_EQ(steps[2].live_bytes, image + pooled);
  EXPECT_EQ(kept(info.steps, StepKind::view).size(), 1U);
  int64_t most = 0;
  for (const StepInfo& step : info.steps) most = std::max(most, step.live_bytes);
  EXPECT_LE(most, info.arena_bytes);
}

TEST(StepInfo, KindsAreCountedAsThePlanDoes) {
  const auto model = network().load();
  Executor executor(model->graph(), channels_last());
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const PlanInfo info = executor.plan_info();
  EXPECT_GT(info.reorders, 0);
  EXPECT_EQ(static_cast<int64_t>(kept(info.steps, StepKind::reorder).size()), info.reorders);
  EXPECT_EQ(static_cast<int64_t>(kept(info.steps, StepKind::pack).size()), info.packs);
}

/// A graph output that is copied for the caller belongs to no node.
TEST(StepInfo, CopiesOfOutputsAreNamedAfterThem) {
  const auto model = TextModel(R"(g (float[1,8,16,16] x) => (float[1,16,16,16] y) <float[16,8,3,3] w> {
    y = Conv <pads = [1, 1, 1, 1]> (x, w)
  })")
                         .name_nodes()
                         .load();
  Executor executor(model->graph(), channels_last());
  (void)executor.run({{"x", ones({1, 8, 16, 16})}});
  const auto reorders = kept(executor.plan_info().steps, StepKind::reorder);
  ASSERT_EQ(reorders.size(), 2U);
  EXPECT_EQ(reorders[0].node, "Conv_0");
  EXPECT_EQ(reorders[1].node, "y");
  EXPECT_TRUE(reorders[1].operators.empty());
}

void expect_times(Executor& executor, const Inputs& inputs) {
  StepTimes times;
  for (int i = 0; i < 3; ++i) {
    (void)executor.run(inputs, &times);
    const auto& steps = executor.plan_info().steps;
    const auto timed =
        static_cast<std::size_t>(std::ranges::count_if(steps, [](const StepInfo& step) { return step.kind != StepKind::view; }));
    ASSERT_EQ(times.begins.size(), timed);
    ASSERT_EQ(times.ends.size(), timed);
    for (std::size_t k = 0; k < timed; ++k) {
      EXPECT_LE(times.begins[k], times.ends[k]);
      EXPECT_LE(k == 0 ? times.begins[k] : times.ends[k - 1], times.begins[k]);
    }
  }
}

TEST(StepTimes, OneEntryForEachStepThatRuns) {
  const auto model = network().load();
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    Executor executor(model->graph(), in_mode(mode));
    expect_times(executor, {{"x", ones({1, 8, 16, 16})}});
  }
}

/// A node whose result's dims depend on data runs between two plans.
TEST(StepTimes, NodesBetweenPlansAreTimedToo) {
  const auto model = TextModel("g (float[4,5] x) => (float[n,m] y) {\nr = Relu (x)\ni = NonZero (r)\nf = Cast <to = 1> (i)\ny = Exp (f)\n}")
                         .name_nodes()
                         .load();
  Executor executor(model->graph(), {});
  expect_times(executor, {{"x", ones({4, 5})}});
  std::vector<std::string> operators;
  for (const StepInfo& step : executor.plan_info().steps) operators.insert(operators.end(), step.operators.begin(), step.operators.end());
  EXPECT_THAT(operators, ElementsAre("Relu", "NonZero", "Cast", "Exp"));
}

/// Two calls of a function, and a Loop of three iterations with an If in it.
std::unique_ptr<Model> nested() {
  return TextModel(R"(g (float[2,3] x, int64 n, bool c) => (float[2,3] y) {
  a = local.block (x)
  b = local.block (a)
  y = Loop (n, c, b) <body = body (int64 i, bool ci, float[2,3] s) => (bool co, float[2,3] t) {
    co = Identity (ci)
    e = Exp (s)
    t = If (ci) <then_branch = th () => (float[2,3] u) { u = Neg (e) },
                      else_branch = el () => (float[2,3] v) { v = Abs (e) }> }>
}
<domain: "local", opset_import: ["" : 18]>
block (x) => (y) { t = Erf (x)
  y = Sum (t, x) })",
                   R"(<ir_version: 9, opset_import: ["" : 18, "local" : 1]>)")
      .load();
}

Inputs three_iterations() {
  Tensor count(DataType::int64, {}), condition(DataType::boolean, {});
  *count.data<int64_t>() = 3;
  *condition.data<uint8_t>() = 1;
  return {{"x", ones({2, 3})}, {"n", count}, {"c", condition}};
}

TEST(StepInfo, FunctionsAreTheirStepsCallers) {
  const auto model = nested();
  Executor executor(model->graph(), in_mode(Mode::as_written));
  (void)executor.run(three_iterations());
  std::vector<std::string> names;
  for (const StepInfo& step : executor.plan_info().steps) {
    names.push_back((step.callers.empty() ? "" : step.callers.front() + "/") + step.node);
    EXPECT_LE(step.callers.size(), 1U);
  }
  EXPECT_THAT(names, ElementsAre("a/t", "a/y", "b/t", "b/y", "y"));
  EXPECT_TRUE(executor.plan_info().inner.empty()) << "no run was timed";
}

TEST(StepTimes, NestedGraphsAreTimedStepByStep) {
  const auto model = nested();
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    Executor executor(model->graph(), in_mode(mode));
    const Inputs inputs = three_iterations();
    (void)executor.run(inputs);
    for (int run = 0; run < 2; ++run) {
      StepTimes times;
      (void)executor.run(inputs, &times);
      const PlanInfo info = executor.plan_info();
      ASSERT_EQ(times.inner.size(), info.inner.size());
      int64_t sum = 0;
      std::vector<std::string> names;
      for (std::size_t i = 0; i < info.inner.size(); ++i) {
        std::string name;
        for (const std::string& caller : info.inner[i].info.callers) name += caller + "/";
        EXPECT_EQ(info.steps.at(info.inner[i].within).node, "y");
        EXPECT_GE(times.inner[i].nanoseconds, 0);
        EXPECT_EQ(times.inner[i].calls, 3) << name;
        sum += times.inner[i].nanoseconds;
        if (info.inner[i].info.kind == StepKind::node) names.push_back(name + info.inner[i].info.node);
      }
      EXPECT_THAT(names, UnorderedElementsAre("y/e", "y/t/u", "y/t")) << to_string(mode);
      EXPECT_LE(sum, times.ends.back() - times.begins.back()) << "parts of the loop's own step";
    }
  }
}

}  // namespace
}  // namespace relayout::test
