// Tests labels and reorders of whole graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/machine.h"
#include "exec/routine.h"
#include "layout/axis_order.h"
#include "layout/cost.h"
#include "layout/graph_shapes.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "layout/ports.h"
#include "ops/op.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/model_cache.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// A graph and its plan, queried by names.
class Planned {
 public:
  explicit Planned(const std::string& text, LayoutChoice choice = LayoutChoice::automatic, int opset = 17,
                   InstructionSet set = InstructionSet::avx512)
      : model_(TextModel(text, "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + ", \"com.microsoft\" : 1]>").load()),
        shapes_(model_->graph()),
        graph_(layout::layout_graph(model_->graph(), shapes_)),
        plan_(layout::plan_layout(graph_, {choice, &layout::default_costs(set)})) {
    expect_executed(text, choice, set);
  }

  /// Names of the values that are copied into another order.
  [[nodiscard]] std::vector<std::string> copied() const {
    std::vector<std::string> out;
    for (const layout::PlannedCopy& copy : plan_.copies) out.push_back(name_of(copy.value));
    return out;
  }
  [[nodiscard]] std::vector<std::string> packed() const {
    std::vector<std::string> out;
    for (const layout::LayoutValueId value : plan_.packs) out.push_back(name_of(value));
    return out;
  }
  /// "contiguous", "channels-last" or "both", of a tensor as its producer writes it.
  [[nodiscard]] std::string layout(const std::string& name) const {
    for (const layout::LayoutValueId id : graph_.values.ids()) {
      if (graph_.values[id].value->name() == name) return layout::order_name(plan_.held[id], graph_.values[id].dims);
    }
    return "no such tensor";
  }
  /// Reason why the producer of a tensor stays contiguous.
  [[nodiscard]] std::string barrier(const std::string& output) const {
    for (const layout::LayoutNodeId id : graph_.nodes.ids()) {
      if (graph_.nodes[id].node->output(0)->name() == output) return plan_.nodes[id].barrier;
    }
    return "no such node";
  }
  [[nodiscard]] const layout::LayoutPlan& plan() const { return plan_; }
  [[nodiscard]] const layout::LayoutGraph& graph() const { return graph_; }

 private:
  /// L96: the plan is executed, whatever the number of threads. Nodes downstream of control flow and of data-dependent sizes are planned
  /// once those are known, with their operands in the layout they have: there the whole graph's plan is an upper bound of what runs.
  void expect_executed(const std::string& text, LayoutChoice choice, InstructionSet set) {
    Inputs inputs;
    for (const Value* const input : model_->graph().inputs()) {
      if (input->initializer() == nullptr) inputs.emplace(input->name(), Tensor(input->declared()->type, *shapes_.dims_of(input)));
    }
    for (const int threads : {1, 2}) {
      ExecuteOptions options;
      options.layout = choice;
      options.threads = threads;
      Executor executor = ExecutorBuilder::build(model_->graph(), options, &layout::default_costs(set));
      (void)executor.run(inputs);
      const PlanInfo& info = executor.plan_info();
      const auto copies = static_cast<int64_t>(plan_.copies.size());
      if (is_planned_whole()) {
        EXPECT_EQ(info.planned_reorders, copies) << text;
      } else {
        EXPECT_LE(info.planned_reorders, copies) << text;
      }
      EXPECT_EQ(info.planned_packs, static_cast<int64_t>(plan_.packs.size())) << text;
      EXPECT_EQ(info.reorders, info.planned_reorders) << text;
      EXPECT_EQ(info.packs, info.planned_packs) << text;
    }
  }
  [[nodiscard]] bool is_planned_whole() const {
    return std::ranges::none_of(graph_.nodes,
                                [](const layout::LayoutNode& node) { return !node.node->subgraphs().empty() || node.node->is("NonZero"); });
  }
  [[nodiscard]] std::string name_of(layout::LayoutValueId value) const { return graph_.values[value].value->name(); }
  std::unique_ptr<Model> model_;
  layout::Shapes shapes_;
  layout::LayoutGraph graph_;
  layout::LayoutPlan plan_;
};

// Sizes at which channels-last gains something: a first layer and depthwise convolutions.
const std::string kInput = "float[1,3,96,96] x";
const std::string kStem = "a = Conv <pads = [1,1,1,1]> (x, W)  ";
const std::string kStemWeights = "float[16,3,3,3] W";

TEST(LayoutPlan, L73InputAndOutput) {
  const Planned planned(
      "g (" + kInput + ") => (float[1,16,96,96] y) <" + kStemWeights +
      ", float[16,1,3,3] V> { a = Conv <pads = [1,1,1,1]> (x, W)  r = Relu (a)  y = Conv <pads = [1,1,1,1], group = 16> (r, V) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x", "y"));
  EXPECT_EQ(planned.layout("r"), "channels-last");
  EXPECT_THAT(planned.packed(), IsEmpty());
}

TEST(LayoutPlan, L74AmbiguousInputs) {
  EXPECT_THAT(Planned("g (float[1,1,96,96] x) => (float[1,16] y) <float[16,1,3,3] W, float[16,1,3,3] V> { a = Conv (x, W)  b = Conv <group "
                      "= 16> (a, V) "
                      "p = GlobalAveragePool (b)  y = Flatten (p) }")
                  .copied(),
              IsEmpty());
  EXPECT_THAT(Planned("g (float[1,32,1,1] x) => (float[1,16,1,1] y) <float[16,32,1,1] W> { y = Conv (x, W) }").copied(), IsEmpty());
}

TEST(LayoutPlan, L75DownstreamOfThePool) {
  const std::string tail = "(" + kInput + ") => (float[1,10] y) <" + kStemWeights + ", float[16,1,3,3] V, float[10,16] F> { " + kStem +
                           "b = Conv <group = 16> (a, V)  p = GlobalAveragePool (b)  f = Flatten (p)  y = Gemm <transB = 1> (f, F) }";
  EXPECT_THAT(Planned("g " + tail).copied(), ElementsAre("x"));
  const Planned flat("g (" + kInput + ") => (float[1,10] y) <" + kStemWeights + ", float[16,1,3,3] V, float[10,141376] F> { " + kStem +
                     "b = Conv <group = 16> (a, V)  f = Flatten (b)  y = Gemm <transB = 1> (f, F) }");
  EXPECT_THAT(flat.copied(), ElementsAre("x", "b"));
  EXPECT_THAT(flat.barrier("f"), HasSubstr("apart in memory"));
}

TEST(LayoutPlan, L76Gates) {
  for (const std::string gate : {"[1,16,1,1]", "[1,1,96,96]", "[16,1,1]", "[1]", ""}) {
    for (const std::string operands : {"(s, b)", "(b, s)"}) {
      const Planned planned("g (" + kInput + ", float" + gate + " s) => (float[1,16,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " +
                            kStem + "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  m = Mul " + operands +
                            "  y = GlobalAveragePool (m) }");
      EXPECT_THAT(planned.copied(), ElementsAre("x")) << gate << operands;
      EXPECT_EQ(planned.layout("m"), "channels-last");
    }
  }
}

TEST(LayoutPlan, L77ResidualOfABarrier) {
  const Planned planned(
      "g (" + kInput + ", float[1,16,96,96] i) => (float[1,16,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " + kStem +
      "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  c = NonZero (i)  t = Trilu (i)  s = Add (b, t)  y = GlobalAveragePool (s) }");
  EXPECT_EQ(planned.copied().size(), 2U);
}

TEST(LayoutPlan, L78SharedCopy) {
  const Planned planned("g (" + kInput + ") => (float[1,16,1,1] y, float[1,16,96,96] t, float[1,16,96,96] u) <" + kStemWeights +
                        ", float[16,1,3,3] V> { " + kStem +
                        "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  t = Trilu (b)  u = Trilu <upper = 0> (b)  r = Relu (b)  y = "
                        "GlobalAveragePool (r) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x", "b"));
  EXPECT_THAT(planned.plan().copies[1].readers.size(), 2U);
}

TEST(LayoutPlan, L79InsideAndOutput) {
  const Planned planned("g (" + kInput + ") => (float[1,16,96,96] a, float[1,16,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " +
                        kStem + "b = Conv <group = 16> (a, V)  y = GlobalAveragePool (b) }");
  EXPECT_THAT(planned.copied(), UnorderedElementsAre("x", "a"));
  EXPECT_EQ(planned.layout("a"), "channels-last");
}

TEST(LayoutPlan, L80ConcatWithOneContiguousOperand) {
  for (const std::string axis : {"1", "2", "3", "-3"}) {
    const Planned planned("g (" + kInput + ", float[1,16,96,96] i) => (float[1,C,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " +
                          kStem + "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  t = Trilu (i)  c = Concat <axis = " + axis +
                          "> (b, t)  y = GlobalAveragePool (c) }");
    EXPECT_EQ(planned.copied().size(), 2U) << axis;
    EXPECT_EQ(planned.layout("c"), "channels-last") << axis;
  }
}

TEST(LayoutPlan, L81PoolingBranch) {
  const Planned planned(
      "g (" + kInput + ") => (float[1,16,1,1] y) <" + kStemWeights +
      ", float[16,1,3,3] V, float[8,16,1,1] P, float[16,24,1,1] Q, int64[4] sizes = {1,8,96,96}> { " + kStem +
      "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  p = GlobalAveragePool (b)  c = Conv (p, P)  r = Relu (c)  u = Resize <mode = "
      "\"nearest\"> (r, , , sizes)  j = Concat <axis = 1> (b, u)  k = Conv (j, Q)  y = GlobalAveragePool (k) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
}

const std::string kShuffleNet =
    ", float[8,1,3,3] V, int64[2] half = {8,8}, int64[5] open = {1,2,8,96,96}, int64[4] shut = {1,16,96,96}> { " + kStem +
    "l, r = Split <axis = 1> (a, half)  b = Conv <pads = [1,1,1,1], group = 8> (r, V)  c = Concat <axis = 1> (l, b)  o = Reshape (c, open) "
    " t = "
    "Transpose <perm = [0,2,1,3,4]> (o)  s = Reshape (t, shut)  l2, r2 = Split <axis = 1> (s, half)  b2 = Conv <pads = [1,1,1,1], group = "
    "8> (r2, "
    "V)  c2 = Concat <axis = 1> (l2, b2)  y = GlobalAveragePool (c2) }";

TEST(LayoutPlan, L82And83ChannelShuffle) {
  const Planned planned("g (" + kInput + ") => (float[1,16,1,1] y) <" + kStemWeights + kShuffleNet);
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  EXPECT_THAT(planned.packed(), UnorderedElementsAre("r", "r2"));
  EXPECT_EQ(planned.layout("s"), "channels-last");
}

/// The executor runs their bodies; its plan of these is the one for the nodes of the file.
TEST(LayoutPlan, ConvolutionsWithFusedFunctionsAndSums) {
  const Planned planned("g (" + kInput + ") => (float[1,16,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " + kStem +
                        R"(b = com.microsoft.FusedConv <activation = "Relu", pads = [1,1,1,1], group = 16> (a, V)
                           c = com.microsoft.FusedConv <pads = [1,1,1,1], group = 16> (b, V, , a)
                           d = com.microsoft.QuickGelu (c)  y = GlobalAveragePool (d) })");
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  for (const char* const name : {"b", "c", "d"}) EXPECT_EQ(planned.layout(name), "channels-last") << name;
}

/// A view with gaps is made dense only for kernels that take it no other way (Planned compares with the steps that run).
TEST(LayoutPlan, PacksAreForKernelsThatReadNoGaps) {
  const std::vector<std::string> readers{"Abs (s)",
                                         "Elu (s)",
                                         "Exp (s)",
                                         "Log (s)",
                                         "Sigmoid (s)",
                                         "Softplus (s)",
                                         "Tanh (s)",
                                         "Mul (s, s)",
                                         "Softmax <axis = 1> (s)",
                                         "LogSoftmax <axis = 1> (s)",
                                         "Softmax <axis = 3> (s)",
                                         "LogSoftmax <axis = 3> (s)",
                                         "AveragePool <kernel_shape = [2,2]> (s)",
                                         "MaxPool <kernel_shape = [2,2]> (s)",
                                         "LpPool <kernel_shape = [2,2]> (s)",
                                         "GlobalAveragePool (s)",
                                         "GlobalMaxPool (s)",
                                         "LRN <size = 3> (s)",
                                         "InstanceNormalization (s, n, n)",
                                         "ReduceSum (s)",
                                         "Conv (s, Q)",
                                         "ConvTranspose (s, Q)",
                                         "Trilu (s)"};
  for (const std::string& reader : readers) {
    for (const LayoutChoice choice : {LayoutChoice::always, LayoutChoice::never}) {
      SCOPED_TRACE(reader);
      const Planned planned(
          "g (" + kInput + ") => (float[N,C,H,V] y) <" + kStemWeights +
              ", float[16,1,3,3] V, float[8] n, float[8,8,1,1] Q, int64[1] first = {4}, int64[1] last = {12}, int64[1] axis "
              "= {1}> { " +
              kStem + "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  s = Slice (b, first, last, axis)  y = " + reader + " }",
          choice);
    }
  }
}

TEST(LayoutPlan, L84ConvNeXtBlock) {
  const Planned planned("g (" + kInput + ") => (float[1,16,1,1] y) <" + kStemWeights +
                        ", float[16,1,3,3] V, float[16] n, float[16,16] M> { " + kStem +
                        "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  t = Transpose <perm = [0,2,3,1]> (b)  l = LayerNormalization (t, "
                        "n)  m = MatMul (l, M)  u = "
                        "Transpose <perm = [0,3,1,2]> (m)  s = Add (u, a)  y = GlobalAveragePool (s) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  EXPECT_EQ(planned.layout("t"), "contiguous");
  EXPECT_EQ(planned.layout("u"), "channels-last");
  for (const layout::LayoutNodeId id : planned.graph().nodes.ids()) {
    if (planned.graph().nodes[id].node->is("Transpose")) {
      EXPECT_TRUE(planned.plan().nodes[id].is_ordered);
    }
  }
}

TEST(LayoutPlan, L85TransposesAtTheBorders) {
  const Planned planned(
      "g (float[1,96,96,3] x) => (float[1,96,96,16] y) <" + kStemWeights +
      "> { t = Transpose <perm = [0,3,1,2]> (x)  a = Conv <pads = [1,1,1,1]> (t, W)  y = Transpose <perm = [0,2,3,1]> (a) }");
  EXPECT_THAT(planned.copied(), IsEmpty());
  EXPECT_EQ(planned.layout("t"), "channels-last");
  EXPECT_EQ(planned.layout("a"), "channels-last");
}

TEST(LayoutPlan, L86PatchEmbedding) {
  const Planned planned("g (" + kInput + ") => (float[1,9216,16] y) <" + kStemWeights +
                        ", int64[3] flat = {1,16,9216}, float[16,16] M> { " + kStem +
                        "f = Reshape (a, flat)  t = Transpose <perm = [0,2,1]> (f)  y = MatMul (t, M) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  EXPECT_EQ(planned.layout("t"), "contiguous");
  EXPECT_THAT(planned.packed(), IsEmpty());
}

TEST(LayoutPlan, L87SoftmaxByOpset) {
  const std::string text = "g (" + kInput + ") => (float[1,16,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V> { " + kStem +
                           "s = Softmax <axis = 1> (a)  b = Conv <group = 16> (s, V)  y = GlobalAveragePool (b) }";
  EXPECT_THAT(Planned(text, LayoutChoice::automatic, 13).copied(), ElementsAre("x"));
  const Planned old(text, LayoutChoice::automatic, 11);
  EXPECT_THAT(old.barrier("s"), HasSubstr("opset 13"));
}

TEST(LayoutPlan, L88OneDimensionalConvolutions) {
  const Planned planned(
      "g (float[1,8,4096] x) => (float[1,16,4094] y) <float[16,8,3] W, float[16] s, float[16] variance> { a = Conv (x, W)  y = "
      "BatchNormalization (a, s, s, s, variance) }");
  EXPECT_THAT(planned.copied(), IsEmpty());
  EXPECT_EQ(planned.layout("a"), "contiguous");
}

TEST(LayoutPlan, L88OtherRanks) {
  EXPECT_THAT(Planned("g (float[2,3,4,5,6,7] x) => (float[2,3,4,5,6,7] y) { a = Relu (x)  y = Sigmoid (a) }").copied(), IsEmpty());
  EXPECT_THAT(Planned("g (float[5,6] x) => (float[5,7] y) <float[6,7] M> { y = MatMul (x, M) }").copied(), IsEmpty());
}

TEST(LayoutPlan, L89Barriers) {
  const auto planned = [](const std::string& node, const std::string& outputs) {
    return Planned("g (" + kInput + ") => (" + outputs + ") <" + kStemWeights + ", float[16,1,3,3] V> { " + kStem +
                   "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  " + node + " }");
  };
  EXPECT_THAT(
      planned("y, i = MaxPool <kernel_shape = [2,2], strides = [2,2], storage_order = 1> (b)", "float[1,16,48,48] y, int64[1,16,48,48] i")
          .barrier("y"),
      HasSubstr("indices"));
  EXPECT_THAT(
      planned("y, i = MaxPool <kernel_shape = [2,2], strides = [2,2]> (b)", "float[1,16,48,48] y, int64[1,16,48,48] i").barrier("y"), "");
  EXPECT_THAT(planned("y = NonZero (b)", "int64[4,N] y").barrier("y"), HasSubstr("contiguous order only"));
}

TEST(LayoutPlan, L90MappedAxes) {
  const auto copied = [](const std::string& nodes, const std::string& constants) {
    return Planned("g (" + kInput + ") => (float[1,C,1,1] y) <" + kStemWeights + ", float[16,1,3,3] V" + constants + "> { " + kStem +
                   "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  " + nodes + "  y = GlobalAveragePool (c) }")
        .copied();
  };
  EXPECT_THAT(copied("c = Pad (b, p)", ", int64[8] p = {0,0,1,2,0,0,3,4}"), ElementsAre("x"));
  EXPECT_THAT(copied("c = Slice (b, s, e, n)", ", int64[1] s = {1}, int64[1] e = {90}, int64[1] n = {-1}"), ElementsAre("x"));
  EXPECT_THAT(copied("c = Resize <mode = \"linear\"> (b, , k)", ", float[4] k = {1,1,2,2}"), ElementsAre("x"));
  EXPECT_THAT(copied("c = Resize <mode = \"linear\"> (b, , k)", ", float[4] k = {1,2,1,1}"), ElementsAre("x", "b"));
  EXPECT_THAT(copied("c = ReduceMax <axes = [-1], keepdims = 1> (b)", ""), ElementsAre("x"));
  EXPECT_THAT(copied("c = DepthToSpace <blocksize = 2> (b)", ""), ElementsAre("x"));
}

TEST(LayoutPlan, AxesOfReductionsHaveEitherIntegerType) {
  for (const std::string type : {"int32", "int64"}) {
    SCOPED_TRACE(type);
    const Planned planned("g (" + kInput + ") => (float[1,C] y) <" + kStemWeights + ", float[16,1,3,3] V, " + type + "[2] n = {2,3}> { " +
                          kStem + "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  y = ReduceSum <keepdims = 0> (b, n) }");
    EXPECT_THAT(planned.copied(), ElementsAre("x"));
  }
}

const std::string kLoses =
    "g (float[1,64,512,512] x) => (float[1,64,512,512] y) <float[64,64,1,1] W> { t = Trilu (x)  c = Conv (t, W)  y = Trilu (c) }";

TEST(LayoutPlan, L91WhereChannelsLastLoses) {
  EXPECT_THAT(Planned(kLoses).copied(), IsEmpty());
  EXPECT_THAT(Planned(kLoses, LayoutChoice::always).copied(), ElementsAre("t", "c"));
  const Planned always(kLoses, LayoutChoice::always);
  EXPECT_GT(always.plan().nanoseconds, always.plan().contiguous_nanoseconds);
  EXPECT_THAT(Planned("g (" + kInput + ") => (float[1,16,96,96] a) <" + kStemWeights + "> { " + kStem + "}", LayoutChoice::never).copied(),
              IsEmpty());
}

TEST(LayoutPlan, L92TwoComponents) {
  const Planned planned("g (" + kInput + ", float[1,16,96,96] z) => (float[1,16,96,96] y, float[1,16,1,1] p) <" + kStemWeights + "> { " +
                        kStem + "p = GlobalAveragePool (a)  u = Relu (z)  y = Sigmoid (u) }");
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  EXPECT_EQ(planned.layout("u"), "contiguous");
}

TEST(LayoutPlan, L93ControlFlowIsABorder) {
  const Planned planned(
      "g (bool k, " + kInput + ") => (float[1,16,96,96] y) <" + kStemWeights + ", float[16,1,3,3] V> { " + kStem +
      "b = Conv <pads = [1,1,1,1], group = 16> (a, V)  y = If (k) <then_branch = t () => (float[1,16,96,96] p) { p = Relu (b) }, "
      "else_branch = e () => (float[1,16,96,96] q) { q = Neg (b) }> }");
  EXPECT_THAT(planned.copied(), ElementsAre("x", "b"));
  EXPECT_EQ(planned.barrier("y"), "control flow");
}

TEST(LayoutPlan, L94FreeDimsAreTakenAsPublishedSizesOrOneAndNamed) {
  const auto model =
      TextModel("g (float[N,3,H,W] x) => (float[N,16,A,B] y) <" + kStemWeights + "> { y = Conv <pads = [1,1,1,1]> (x, W) }").load();
  layout::Shapes one(model->graph());
  EXPECT_THAT(one.assumed(), ElementsAre("N = 1", "H = 224", "W = 224"));
  EXPECT_EQ(*one.dims_of(model->graph().find("y")), (Dims{1, 16, 224, 224}));
  layout::Shapes given(model->graph(), {{{"N", 2}, {"H", 96}, {"W", 96}}, {}});
  EXPECT_THAT(given.assumed(), IsEmpty());
  EXPECT_EQ(*given.dims_of(model->graph().find("y")), (Dims{2, 16, 96, 96}));
  layout::Shapes by_input(model->graph(), {{}, {{"x", {1, 3, 7, 9}}}});
  EXPECT_EQ(*by_input.dims_of(model->graph().find("y")), (Dims{1, 16, 7, 9}));
}

TEST(LayoutPlan, PropagationPaysForEachReader) {
  const auto model = TextModel("g (" + kInput + ") => (float[1,16,96,96] t, float[1,16,96,96] u) <" + kStemWeights + "> { " + kStem +
                               "t = Trilu (a)  u = Trilu <upper = 0> (a) }")
                         .load();
  layout::Shapes shapes(model->graph());
  const layout::LayoutGraph graph = layout_graph(model->graph(), shapes);
  EXPECT_EQ(layout::propagate_layout(graph).copies.size(), 3U);
}

struct Expected {
  const char* model;
  std::size_t copies, packs, with_nhwc;
};

/// Real architectures: one copy, the input's; two where the output is an image.
TEST(LayoutPlan, Models) {
  constexpr Expected kExpected[] = {
      {"resnet18", 1, 0, 0},
      {"resnet50", 1, 0, 0},
      {"resnext50_32x4d", 1, 0, 0},
      {"mobilenet_v2", 1, 0, 0},
      {"mnasnet1_0", 1, 0, 0},
      {"mobilenet_v3_small", 1, 0, 0},
      {"densenet121", 1, 0, 0},
      {"googlenet", 1, 0, 0},
      {"inception_v3", 0, 0, 0},
      {"squeezenet1_1", 1, 0, 0},
      {"shufflenet_v2_x0_5", 1, 13, 0},
      {"shufflenet_v2_x1_0", 1, 13, 0},
      {"r3d_18", 1, 0, 0},
      {"unet2d", 2, 0, 0},
      {"unet3d", 1, 0, 0},
  };
  for (const Expected& expected : kExpected) {
    const std::filesystem::path path = cached_model(expected.model);
    if (path.empty()) GTEST_SKIP() << kNoModels;
    const auto model = Model::load(path);
    layout::Shapes shapes(model->graph());
    layout::LayoutGraph graph = layout_graph(model->graph(), shapes);
    const layout::PlanningOptions options{LayoutChoice::automatic, &layout::default_costs(InstructionSet::avx512)};
    const layout::LayoutPlan plan = plan_layout(graph, options), followed = propagate_layout(graph);
    EXPECT_EQ(plan.copies.size(), expected.copies) << expected.model;
    EXPECT_EQ(plan.packs.size(), expected.packs) << expected.model;
    for (layout::LayoutValue& value : graph.values) {
      if (value.dims.size() >= 4 && (value.is_output || (value.value->is_input() && !value.is_constant))) {
        value.fixed = layout::order_of(layout::channels_last_axes(value.dims.size()), value.dims);
      }
    }
    EXPECT_EQ(layout::plan_layout(graph, options).copies.size(), expected.with_nhwc) << expected.model << " with images";
  }
}

/// Convolutions want channels-last, everything else is much faster contiguous, and copies are cheap.
class TornCosts : public layout::CostModel {
 public:
  [[nodiscard]] int64_t copy_nanoseconds(const layout::LayoutValue&) const override { return 1; }
  [[nodiscard]] Times times(const layout::LayoutGraph&, const layout::LayoutNode& node, const layout::Ports&) const override {
    if (node.op != nullptr && node.op->layout == LayoutRule::wants) return {1000, 10};
    return {10, 100'000};
  }
};

TEST(LayoutPlan, NodesFusedWithAConvolutionHaveItsOrder) {
  const auto model = TextModel("g (" + kInput + ") => (float[1,16,96,96] y) <" + kStemWeights + R"(, float[16,16,3,3] V,
      float[16] s, float[16] t, float[16] m, float[16] v> {
      a = Conv <pads = [1,1,1,1]> (x, W)  b = BatchNormalization (a, s, t, m, v)  c = HardSwish (b)
      d = Conv <pads = [1,1,1,1]> (c, V)  e = BatchNormalization (d, s, t, m, v)  f = Add (c, e)  r = Relu (f)
      y = Softmax <axis = 3> (r) })")
                         .load();
  layout::Shapes shapes(model->graph());
  const layout::LayoutGraph graph = layout_graph(model->graph(), shapes);
  const TornCosts costs;
  const layout::LayoutPlan plan = plan_layout(graph, {LayoutChoice::automatic, &costs});
  std::vector<std::string> copied;
  for (const layout::PlannedCopy& copy : plan.copies) copied.emplace_back(graph.values[copy.value].value->name());
  EXPECT_THAT(copied, UnorderedElementsAre("x", "r"));
  for (const layout::LayoutNodeId id : graph.nodes.ids()) {
    EXPECT_EQ(plan.nodes[id].is_ordered, !graph.nodes[id].node->is("Softmax")) << graph.nodes[id].node->op_type();
  }
}

TEST(LayoutPlan, RatesAreThoseOfTheInstructionSet) {
  const std::string text =
      "g (float[1,64,56,56] x) => (float[1,64,56,56] y) <float[64,64,3,3] W> { a = Conv <pads = [1,1,1,1]> (x, W)"
      "  b = Conv <pads = [1,1,1,1]> (a, W)  c = Conv <pads = [1,1,1,1]> (b, W)  y = Conv <pads = [1,1,1,1]> (c, W) }";
  const Planned wide(text, LayoutChoice::automatic, 17, InstructionSet::avx2),
      narrow(text, LayoutChoice::automatic, 17, InstructionSet::sse41);
  EXPECT_EQ(wide.layout("b"), "channels-last");
  EXPECT_EQ(narrow.layout("b"), "contiguous");
}

/// A contiguous first convolution is computed in channels-last between two copies, or with AVX2 as a product of unfolded windows, which
/// takes nine times as long as the convolution of lcnet_050 does in channels-last: the copy of the larger input costs less.
TEST(LayoutPlan, FirstConvolutionsAreOrdered) {
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512}) {
    const Planned planned(
        "g (float[1,3,224,224] x) => (float[1,8,1,1] y) <float[8,3,3,3] W, float[8,1,3,3] V> {"
        "  a = Conv <pads = [1,1,1,1], strides = [2,2]> (x, W)  b = HardSwish (a)"
        "  c = Conv <pads = [1,1,1,1], group = 8> (b, V)  y = GlobalAveragePool (c) }",
        LayoutChoice::automatic, 17, set);
    EXPECT_THAT(planned.copied(), ElementsAre("x"));
  }
}

/// Depthwise convolutions of mixnet_s by windows of two sizes: contiguous, the copies around each take longer with AVX2 (48 µs) than the
/// copies of its parts in channels-last (8 µs).
TEST(LayoutPlan, PartsOfMixedWindowsAreOrdered) {
  const Planned planned(
      "g (float[1,3,56,56] x) => (float[1,40,1,1] y) <float[40,3,3,3] W, float[120,20,1,1] P, float[120,1,3,3] V, float[120,1,5,5] U, "
      "float[20,120,1,1] Q, int64[2] few = {20,20}, int64[2] many = {120,120}> {"
      "  a = Conv <pads = [1,1,1,1], strides = [2,2]> (x, W)"
      "  l, r = Split <axis = 1> (a, few)  b = Conv (l, P)  c = Conv (r, P)  d = Concat <axis = 1> (b, c)"
      "  m, n = Split <axis = 1> (d, many)  e = Conv <pads = [1,1,1,1], group = 120> (m, V)"
      "  f = Conv <pads = [2,2,2,2], group = 120> (n, U)  h = Concat <axis = 1> (e, f)"
      "  o, p = Split <axis = 1> (h, many)  i = Conv (o, Q)  j = Conv (p, Q)  k = Concat <axis = 1> (i, j)  y = GlobalAveragePool (k) }",
      LayoutChoice::automatic, 17, InstructionSet::avx2);
  EXPECT_THAT(planned.copied(), ElementsAre("x"));
  for (const char* const name : {"a", "d", "h", "k"}) EXPECT_EQ(planned.layout(name), "channels-last") << name;
}

}  // namespace
}  // namespace relayout::test
