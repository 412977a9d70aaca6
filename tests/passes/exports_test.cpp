// Tests exports: images passed channels-last, and the plan's borders as pairs of Transposes.
#include <gmock/gmock.h>

#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;

const std::string kIo = "export-io", kTransposes = "export-transposes";

PassOptions contiguous_options() {
  PassOptions options;
  options.layout = WeightsLayout::contiguous;
  return options;
}

PassOptions named(const std::vector<std::string>& names) {
  PassOptions options;
  options.io_names = names;
  return options;
}

/// Undoing restores the original bytes, and a second run changes nothing.
PassResult expect_exports(const std::string& pass, const TextModel& before, const PassOptions& options = {}) {
  PassResult result = run({pass}, before, options);
  EXPECT_TRUE(run({pass}, TextModel::of(result.bytes), options).bytes == result.bytes) << "twice is not once";
  EXPECT_TRUE(run({pass}, TextModel::of(result.bytes), contiguous_options()).bytes == before.bytes()) << to_text(*result.model);
  return result;
}

std::string dims_text(const onnx::ValueInfoProto& info) {
  std::string out;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    out += (out.empty() ? "" : ",") + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
    if (!dim.denotation().empty()) out += "(" + dim.denotation() + ")";
  }
  return out;
}

Tensor ramp(const Dims& dims) {
  Tensor out(DataType::float32, dims);
  for (int64_t i = 0; i < out.element_count(); ++i) out.data<float>()[i] = static_cast<float>(i % 23) - 11;
  return out;
}

std::vector<float> values_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  return {dense.data<float>(), dense.data<float>() + dense.element_count()};
}

/// Both models on the same images, each in its own order.
void expect_same_images(const TextModel& before, const PassResult& after, const Dims& x, bool image_output) {
  const Tensor image = ramp(x);
  const auto a = compute(*before.load(), {{"x", Datum(image)}});
  const auto b = compute(*after.model, {{"x", Datum(contiguous(image.transposed(std::vector<int64_t>{0, 2, 3, 1})))}});
  const Tensor given = image_output ? b.at(0).tensor.transposed(std::vector<int64_t>{0, 3, 1, 2}) : b.at(0).tensor;
  EXPECT_EQ(values_of(given), values_of(a.at(0).tensor));
}

const std::string kConv = "<float[5,3,2,1] W> { y = Conv (x, W) }";

TEST(ExportIo, L97DimsSymbolsAndDenotationsMove) {
  TextModel before("g (float[N,3,H,W] x) => (float[N,5,A,W] y) " + kConv);
  before.edit([](onnx::ModelProto& message) {
    auto& shape = *message.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(1)->set_denotation("DATA_CHANNEL");
  });
  const PassResult result = expect_exports(kIo, before);
  EXPECT_EQ(dims_text(result.model->message().graph().input(0)), "N,H,W,3(DATA_CHANNEL)");
  EXPECT_EQ(dims_text(result.model->message().graph().output(0)), "N,A,W,5");
  EXPECT_EQ(result.model->graph().inputs().front()->name(), "x");
  EXPECT_EQ(result.model->graph().outputs().front()->name(), "y");
  EXPECT_EQ(result.count("Transpose"), 2);
  expect_same_images("g (float[2,3,7,5] x) => (float[2,5,6,5] y) " + kConv,
                     run({kIo}, "g (float[2,3,7,5] x) => (float[2,5,6,5] y) " + kConv), {2, 3, 7, 5}, true);
}

TEST(ExportIo, OutputsListedSeveralTimesMoveTogether) {
  const TextModel before("g (float[2,3,7,5] x) => (float[2,5,6,5] y, float[2,5,6,5] y) " + kConv);
  const PassResult result = expect_exports(kIo, before);
  EXPECT_EQ(result.count("Transpose"), 2);
  for (const auto& output : result.model->message().graph().output()) EXPECT_EQ(dims_text(output), "2,6,5,5");
  expect_same_images(before, result, {2, 3, 7, 5}, true);
}

TEST(ExportIo, L97OnlyNamedOnesAndOnlyImages) {
  const TextModel before(
      "g (float[1,3,7,5] x, float[4,6] m, float[1,2,3,4] z) => (float[1,5,6,5] y, float[4,6] n, float[1,2,3,4] u) <float[5,3,2,1] W> { y = "
      "Conv (x, W)  "
      "n = Neg (m)  u = Neg (z) }");
  const PassResult all = expect_exports(kIo, before);
  EXPECT_EQ(dims_text(all.model->message().graph().input(0)), "1,7,5,3");
  EXPECT_EQ(dims_text(all.model->message().graph().input(1)), "4,6");
  EXPECT_EQ(dims_text(all.model->message().graph().input(2)), "1,2,3,4") << "no convolution near it";
  const PassResult one = expect_exports(kIo, before, named({"y"}));
  EXPECT_EQ(one.count("Transpose"), 1);
  EXPECT_EQ(dims_text(one.model->message().graph().output(0)), "1,6,5,5");
  const PassResult other = expect_exports(kIo, before, named({"z"}));
  EXPECT_EQ(dims_text(other.model->message().graph().input(2)), "1,3,4,2");
  EXPECT_THAT(run({kIo}, before, named({"m"})).reasons(), ElementsAre(Reason::not_an_image));
  EXPECT_THROW((void)run({kIo}, before, named({"absent"})), Error);
}

TEST(ExportIo, L98ManyReadersUnusedAndOutput) {
  const TextModel shared(
      "g (float[1,3,7,5] x) => (float[1,5,6,5] y, float[1,3,7,5] z) <float[5,3,2,1] W> { y = Conv (x, W)  z = Neg (x) }");
  EXPECT_EQ(expect_exports(kIo, shared, named({"x"})).count("Transpose"), 1);
  expect_same_images(shared, run({kIo}, shared, named({"x"})), {1, 3, 7, 5}, false);
  expect_exports(kIo, "g (float[1,3,7,5] x, float[1,2,3,4] unused) => (float[1,5,6,5] y) " + kConv, named({"unused"}));
  const TextModel inside(
      "g (float[1,3,7,5] x) => (float[1,5,6,5] y, float[1,5,6,5] z) <float[5,3,2,1] W> { y = Conv (x, W)  z = Neg (y) }");
  const PassResult result = expect_exports(kIo, inside);
  EXPECT_NO_THROW((void)TextModel::of(result.bytes).load());
  expect_same_images(inside, result, {1, 3, 7, 5}, true);
}

TEST(ExportIo, ImagesOfTheOriginalInterfaceStayChannelsLast) {
  const TextModel model(
      "g (float[1,7,5,3] x) => (float[1,6,5,5] y) <float[5,3,2,1] W> { t = Transpose <perm = [0,3,1,2]> (x)  c = Conv (t, W)  y = "
      "Transpose <perm = "
      "[0,2,3,1]> (c) }");
  EXPECT_TRUE(run({kIo}, model, contiguous_options()).bytes == model.bytes());
}

TEST(ExportIo, CapturedInputsAreReadContiguousInside) {
  const TextModel model(R"(g (bool k, float[1,3,7,5] x) => (float[1,5,6,5] y) <float[5,3,2,1] W> {
    y = If (k) <then_branch = t () => (float[1,5,6,5] p) { p = Conv (x, W) }, else_branch = e () => (float[1,5,6,5] q) { r = Neg (x)  q = Conv (r, W) }> })");
  const PassResult result = expect_exports(kIo, model, named({"x"}));
  EXPECT_EQ(result.count("Transpose"), 1);
}

/// A first layer and a depthwise one, large enough to gain; B is a barrier.
std::string network(const std::string& nodes, const std::string& outputs) {
  return "g (float[1,3,96,96] x) => (" + outputs +
         ") <float[16,3,3,3] W, float[16,1,3,3] V> { a = Conv <pads = [1,1,1,1]> (x, W)  b = Conv <pads = [1,1,1,1], group = 16> (a, V)  " +
         nodes + " }";
}

TEST(ExportTransposes, L99OnePairPerReorder) {
  const TextModel before(network("y = GlobalAveragePool (b)", "float[1,16,1,1] y"));
  const PassResult result = expect_exports(kTransposes, before);
  EXPECT_EQ(result.count("Transpose"), 2);
  EXPECT_EQ(result.findings.size(), 1U);
  expect_same(before, result, {kTransposes}, {});
}

TEST(ExportTransposes, L99BarriersAndOutputs) {
  const TextModel before(
      network("t = Trilu (b)  u = Trilu <upper = 0> (b)  y = Relu (b)", "float[1,16,96,96] t, float[1,16,96,96] u, float[1,16,96,96] y"));
  const PassResult result = expect_exports(kTransposes, before);
  EXPECT_EQ(result.count("Transpose"), 4) << "the input, and once for barriers and output";
  expect_same(before, result, {kTransposes}, {});
  const TextModel image(network("y = Relu (b)", "float[1,16,96,96] y"));
  const PassResult of_image = expect_exports(kTransposes, image);
  EXPECT_EQ(of_image.count("Transpose"), 4) << "the input, the output";
  expect_same(image, of_image, {kTransposes}, {});
  const TextModel inner(network("y = GlobalAveragePool (b)", "float[1,16,1,1] y, float[1,16,96,96] a"));
  expect_same(inner, expect_exports(kTransposes, inner), {kTransposes}, {});
}

TEST(ExportTransposes, L99PairsOfOthersStay) {
  const TextModel model(
      network("p = Transpose <perm = [0,2,3,1]> (b)  q = Transpose <perm = [0,3,1,2]> (p)  y = Trilu (q)", "float[1,16,96,96] y"));
  EXPECT_TRUE(run({kTransposes}, model, contiguous_options()).bytes == model.bytes());
}

/// Steps of the executor that copy a tensor from one order into another.
int64_t copies_of(const Model& model) {
  Executor executor(model.graph(), {});
  (void)executor.run({{"x", Datum(ramp({1, 3, 96, 96}))}});
  return std::ranges::count_if(executor.plan_info().steps, [](const StepInfo& step) {
    return (step.op_type == "Reorder" || step.op_type == "Pack" || step.op_type == "Transpose") && step.implementation != "view";
  });
}

/// A pair is one copy and a view: the written model costs no more than the plan.
TEST(ExportTransposes, L99TheExecutorCountsAPairOnce) {
  const std::string outputs = "float[1,16,96,96] t, float[1,16,96,96] y";
  for (const TextModel& before :
       {TextModel(network("y = GlobalAveragePool (b)", "float[1,16,1,1] y")), TextModel(network("t = Trilu (b)  y = Relu (b)", outputs))}) {
    const PassResult result = run({kTransposes}, before);
    EXPECT_GT(result.count("Transpose"), 0);
    EXPECT_EQ(copies_of(*result.model), copies_of(*before.load()));
  }
}

TEST(ExportTransposes, ChoiceNeverWritesNothing) {
  PassOptions never;
  never.choice = LayoutChoice::never;
  const TextModel before(network("y = GlobalAveragePool (b)", "float[1,16,1,1] y"));
  EXPECT_TRUE(run({kTransposes}, before, never).bytes == before.bytes());
}

TEST(Exports, TogetherAndBack) {
  const TextModel before(network("t = Trilu (b)  y = Relu (t)", "float[1,16,96,96] y"));
  const std::vector<std::string> all{"conv-weights-layout", kIo, kTransposes};
  const PassResult result = run(all, before);
  EXPECT_GT(result.count("Transpose"), 3);
  EXPECT_TRUE(run(all, TextModel::of(result.bytes), contiguous_options()).bytes == before.bytes());
}

}  // namespace
}  // namespace relayout::test
