// Tests convolution weights in channels-last order and back.

#include <gmock/gmock.h>

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;

const std::string kPass = "conv-weights-layout";

PassOptions contiguous() {
  PassOptions options;
  options.layout = WeightsLayout::contiguous;
  return options;
}

std::vector<int64_t> dims_of(const PassResult& result, const std::string& name) {
  const Value* const value = result.model->graph().find(name);
  if (value == nullptr || value->initializer() == nullptr) return {};
  return value->initializer()->data->dims();
}

std::vector<int64_t> perm_of(const Node& node) {
  const auto& ints = node.attribute("perm")->ints();
  return {ints.begin(), ints.end()};
}

/// Moves the weights, checks values and invariants, and that undoing restores the original bytes.
PassResult expect_moves(const TextModel& before, int weights = 1, PassOptions options = {}) {
  PassResult result = run({kPass}, before, options);
  EXPECT_EQ(result.count("Transpose"), weights + run({}, before).count("Transpose")) << result.details();
  expect_same(before, result, {kPass}, options);
  const PassResult back = run({kPass}, TextModel::of(result.bytes), contiguous());
  EXPECT_TRUE(back.bytes == before.bytes()) << "undoing left\n" << to_text(*back.model) << back.details();
  return result;
}

/// Expects that nothing moves, for this reason, which is a refusal or a remark.
void expect_stays(const TextModel& model, Reason reason, Verdict verdict = Verdict::skipped, const PassOptions& options = {}) {
  const PassResult result = run({kPass}, model, options);
  EXPECT_TRUE(result.bytes == model.bytes()) << to_text(*result.model);
  ASSERT_FALSE(result.findings.empty());
  for (const Finding& finding : result.findings) {
    EXPECT_EQ(finding.verdict, verdict) << result.details();
    EXPECT_EQ(to_string(finding.reason), to_string(reason)) << result.details();
  }
}

TextModel conv(const std::string& x, const std::string& w, const std::string& y, const std::string& attributes = "",
               const std::string& op = "Conv", int opset = 17) {
  return {"g (float" + x + " x) => (float" + y + " y) <float" + w + " W> { y = " + op +
              (attributes.empty() ? "" : " <" + attributes + ">") + " (x, W) }",
          head(opset)};
}

TEST(WeightsLayout, L1Conv2d) {
  const auto result = expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]"));
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(5, 3, 2, 7));
  const Node& transpose = result.model->graph().nodes().front();
  EXPECT_THAT(perm_of(transpose), ElementsAre(0, 3, 1, 2));
  EXPECT_EQ(transpose.name(), "W.channels_last/Transpose");
  EXPECT_EQ(result.model->graph().nodes().back().input(1)->name(), "W");
}

TEST(WeightsLayout, L2Conv3d) {
  const auto result = expect_moves(conv("[1,3,4,6,5]", "[13,3,2,5,4]", "[1,13,3,2,2]"));
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(13, 2, 5, 4, 3));
  EXPECT_THAT(perm_of(result.model->graph().nodes().front()), ElementsAre(0, 4, 1, 2, 3));
}

TEST(WeightsLayout, L3Conv1d) {
  expect_stays(conv("[1,7,5]", "[5,7,3]", "[1,5,3]"), Reason::rank_not_converted);
  PassOptions options;
  options.include_1d = true;
  const auto result = expect_moves(conv("[1,7,5]", "[5,7,3]", "[1,5,3]"), 1, options);
  EXPECT_THAT(perm_of(result.model->graph().nodes().front()), ElementsAre(0, 2, 1));
}

TEST(WeightsLayout, L4Groups) {
  EXPECT_THAT(dims_of(expect_moves(conv("[1,6,5,6]", "[9,2,3,5]", "[1,9,3,2]", "group = 3")), "W.channels_last"), ElementsAre(9, 3, 5, 2));
}

TEST(WeightsLayout, L5To11BothLayouts) {
  const auto stays = [](const TextModel& model) { expect_stays(model, Reason::both_layouts, Verdict::not_applicable); };
  stays(conv("[1,6,5,6]", "[6,1,3,5]", "[1,6,3,2]", "group = 6"));
  stays(conv("[1,3,5,6]", "[6,1,3,3]", "[1,6,3,4]", "group = 3"));
  stays(conv("[1,5,5,6]", "[6,5,1,1]", "[1,6,5,6]"));
  stays(conv("[1,1,5,6]", "[64,1,3,3]", "[1,64,3,4]"));
  stays(conv("[1,1,5,6]", "[1,1,3,3]", "[1,1,3,4]"));
  stays(conv("[1,7,5,6]", "[0,7,3,3]", "[1,0,3,4]"));
  stays(conv("[1,0,5,6]", "[5,0,3,3]", "[1,5,3,4]"));
}

TEST(WeightsLayout, L8And10Move) {
  expect_moves(conv("[1,5,5,6]", "[6,5,1,3]", "[1,6,5,4]"));
  expect_moves(conv("[1,5,5,6]", "[6,5,3,1]", "[1,6,3,6]"));
  expect_moves(conv("[1,7,5,6]", "[1,7,3,2]", "[1,1,3,5]"));
}

TEST(WeightsLayout, L12To15ConvTranspose) {
  EXPECT_THAT(dims_of(expect_moves(conv("[1,6,4,4]", "[6,4,3,2]", "[1,4,6,5]", "", "ConvTranspose")), "W.channels_last"),
              ElementsAre(6, 3, 2, 4));
  EXPECT_THAT(dims_of(expect_moves(conv("[1,6,4,4]", "[6,5,3,2]", "[1,10,6,5]", "group = 2", "ConvTranspose")), "W.channels_last"),
              ElementsAre(6, 3, 2, 5));
  expect_stays(conv("[1,6,4,4]", "[6,1,3,2]", "[1,6,6,5]", "group = 6", "ConvTranspose"), Reason::both_layouts, Verdict::not_applicable);
  EXPECT_THAT(dims_of(expect_moves(conv("[1,3,2,3,2]", "[3,7,2,5,4]", "[1,7,3,7,5]", "", "ConvTranspose")), "W.channels_last"),
              ElementsAre(3, 2, 5, 4, 7));
}

TEST(WeightsLayout, L16To17Integers) {
  const TextModel integers("g (uint8[1,3,5,6] x) => (int32[1,4,3,5] y) <int8[4,3,3,2] W, uint8 z = {2}> { y = ConvInteger (x, W, z) }");
  EXPECT_THAT(dims_of(run({kPass}, integers), "W.channels_last"), ElementsAre(4, 3, 2, 3));
  const TextModel quantized(
      "g (uint8[1,3,5,6] x) => (uint8[1,4,3,5] y) <float a = {0.5}, uint8 z = {2}, int8[4,3,3,2] W, float[4] s, int8[4] p, float b = "
      "{0.25}, uint8 q = {3}> { y = QLinearConv (x, a, z, W, s, p, b, q) }");
  const auto result = run({kPass}, quantized);
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(4, 3, 2, 3));
  EXPECT_TRUE(run({kPass}, TextModel::of(result.bytes), contiguous()).bytes == quantized.bytes());
}

/// A convolution whose weight of 8 bits is dequantized along `axis` by `channels` scales.
TextModel dequantized(const std::string& w, const std::string& op, const std::string& y, int axis, int channels) {
  const std::string per = "[" + std::to_string(channels) + "]";
  return {"g (float[1,6,5,6] x) => (float" + y + " y) <int8" + w + " W, float" + per + " s, int8" + per +
          " z> { w = DequantizeLinear <axis = " + std::to_string(axis) + "> (W, s, z)  y = " + op + " (x, w) }"};
}

TEST(WeightsLayout, L18And19DequantizedWeights) {
  for (const TextModel& before :
       {dequantized("[4,6,3,2]", "Conv", "[1,4,3,5]", 0, 4), dequantized("[6,4,3,2]", "ConvTranspose", "[1,4,7,7]", 1, 4)}) {
    const auto result = expect_moves(before);
    const Node& transpose = result.model->graph().nodes().front();
    EXPECT_EQ(transpose.op_type(), "Transpose");
    const Node& dequantize = *std::next(result.model->graph().nodes().begin());
    EXPECT_EQ(dequantize.whole_message().SerializeAsString(), before.message().graph().node(0).SerializeAsString());
  }
}

TEST(WeightsLayout, L20TransposeDownstreamOfDequantizeLinearByHand) {
  const auto by_hand = [](const std::string& axis, const std::string& scales) {
    return TextModel("g (float[1,6,5,6] x) => (float[1,4,7,7] y) <int8[6,3,2,4] v, float" + scales + " s, int8" + scales +
                     " z> { d = DequantizeLinear " + axis + " (v, s, z)  w = Transpose <perm = [0,3,1,2]> (d)  y = ConvTranspose (x, w) }");
  };
  const TextModel per_channel = by_hand("<axis = 3>", "[4]");
  expect_stays(per_channel, Reason::already_channels_last, Verdict::not_applicable);
  const auto undone = run({kPass}, per_channel, contiguous());
  EXPECT_EQ(undone.count("Transpose"), 0) << undone.details();
  EXPECT_THAT(dims_of(undone, "v"), ElementsAre(6, 4, 3, 2));
  EXPECT_EQ(undone.model->graph().nodes().front().attribute("axis")->i(), 1);
  expect_same(per_channel, undone, {kPass}, contiguous());
  // Also along the input channels, counted from the end, and with one scale for all.
  EXPECT_EQ(run({kPass}, by_hand("<axis = -1>", "[4]"), contiguous()).model->graph().nodes().front().attribute("axis")->i(), 1);
  EXPECT_EQ(run({kPass}, by_hand("<axis = 0>", "[6]"), contiguous()).model->graph().nodes().front().attribute("axis")->i(), 0);
  const TextModel one = by_hand("", "");
  expect_same(one, run({kPass}, one, contiguous()), {kPass}, contiguous());
}

TEST(WeightsLayout, L21BlockedDequantization) {
  const auto result = expect_moves(TextModel(
      "g (float[1,6,5,6] x) => (float[1,4,3,5] y) <int8[4,6,3,2] W, float[4,3,3,2] s, int8[4,3,3,2] z> { w = DequantizeLinear <axis = 1, "
      "block_size = 2> (W, s, z)  y = Conv (x, w) }",
      head(21)));
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(4, 3, 2, 6));
  EXPECT_THAT(dims_of(result, "s"), ElementsAre(4, 3, 3, 2));
}

TEST(WeightsLayout, L22FakeQuantization) {
  const auto result = expect_moves(
      "g (float[1,6,5,6] x) => (float[1,4,3,5] y) <float[4,6,3,2] W, float[4] vars, int8[4] z> { q = QuantizeLinear <axis = 0> (W, vars, "
      "z)  w = "
      "DequantizeLinear <axis = 0> (q, vars, z)  y = Conv (x, w) }");
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(4, 3, 2, 6));
}

TEST(WeightsLayout, L23TypesAreMovedBitForBit) {
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16}) {
    TextModel before = conv("[1,2,3,3]", "[1,2,2,1]", "[1,1,2,3]", "", "Conv", 22).cast(type);
    std::string bytes;
    const std::size_t size = memory_size(type);
    for (std::size_t i = 0; i < 4 * size; ++i) bytes.push_back(static_cast<char>(0xF1 + 13 * i));  // NaN payloads and the like
    before.edit([&](onnx::ModelProto& message) { message.mutable_graph()->mutable_initializer(0)->set_raw_data(bytes); });
    const auto result = run({kPass}, before);
    const Tensor stored = result.model->graph().find("W.channels_last")->initializer()->data->load();
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(stored.bytes()) + (k * 2 + i) * size, size),
                  bytes.substr((i * 2 + k) * size, size));
      }
    }
    EXPECT_TRUE(run({kPass}, TextModel::of(result.bytes), contiguous()).bytes == before.bytes());
  }
}

TEST(WeightsLayout, L24BFloat16BelowOpset13) {
  const TextModel model = conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]", "", "Conv", 12).cast(DataType::bfloat16);
  expect_stays(model, Reason::type_not_transposable);
}

/// A convolution whose weight [5, 7, 3, 1] of a narrow type is dequantized.
TextModel narrow(DataType type, const std::string& bytes, int opset) {
  TextModel model("g (float[1,7,5,6] x) => (float[1,5,3,6] y) <int8[5,7,3,1] W, float s> { w = DequantizeLinear (W, s)  y = Conv (x, w) }",
                  head(opset));
  return model.edit([&](onnx::ModelProto& message) {
    auto& weight = *message.mutable_graph()->mutable_initializer(0);
    weight.set_data_type(static_cast<int>(type));
    weight.set_raw_data(bytes);
  });
}

TEST(WeightsLayout, L25NibblesAreMoved) {
  // 5 × 7 × 3 = 105 elements: the last byte has one.
  std::string bytes;
  const auto element = [](int i) { return (i * 7 + i / 3) % 16; };
  for (int i = 0; i < 105; i += 2) bytes.push_back(static_cast<char>(element(i) | (i + 1 < 105 ? element(i + 1) << 4 : 0)));
  for (const DataType type : {DataType::int4, DataType::uint4}) {
    const TextModel before = narrow(type, bytes, 21);
    const auto result = run({kPass}, before);
    EXPECT_EQ(result.count("Transpose"), 1) << result.details();
    const TextModel written = TextModel::of(result.bytes);
    const auto again = written.load();
    const Tensor stored = again->graph().find("W.channels_last")->initializer()->data->load();
    for (int o = 0; o < 5; ++o) {
      for (int c = 0; c < 7; ++c) {
        for (int k = 0; k < 3; ++k) {
          EXPECT_EQ(static_cast<int>(stored.bytes()[(o * 3 + k) * 7 + c]) & 15, element((o * 7 + c) * 3 + k));
        }
      }
    }
    EXPECT_TRUE(run({kPass}, written, contiguous()).bytes == before.bytes());
    expect_stays(narrow(type, bytes, 20), Reason::type_not_transposable);
  }
}

TEST(WeightsLayout, L26Float8) {
  std::string bytes;
  for (int i = 0; i < 105; ++i) bytes.push_back(static_cast<char>(i));
  expect_stays(narrow(DataType::float8e4m3fn, bytes, 19), Reason::type_not_transposable);
  const auto result = run({kPass}, narrow(DataType::float8e4m3fn, bytes, 21));
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(5, 3, 1, 7));
}

TEST(WeightsLayout, L27And28OtherTensorsStay) {
  const TextModel model(
      R"(g (float[1,3,4,4] x, int64[2] i) => (float[1,3,4,4] y, float[2,3,2,2] z, float[2,2,2,3] e, float[1,3,4,4] n) <float[1,3,4,4] c, float[2,3,4,4] d, float[2,3,3,3] V, float[5,2,2,3] t, float[3] s, float[3] var> {
    y = Mul (x, c)  z = Conv (d, V)  e = Gather (t, i)  n = BatchNormalization (x, s, s, s, var) })");
  const auto result = run({kPass}, model);
  EXPECT_EQ(result.count("Transpose"), 1);
  EXPECT_THAT(dims_of(result, "V.channels_last"), ElementsAre(2, 3, 3, 3));
  for (const char* const name : {"c", "d", "t", "s"}) EXPECT_NE(result.model->graph().find(name)->initializer(), nullptr);
}

TEST(WeightsLayout, L29OtherDomains) {
  const char* const head = R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "own" : 1]>)";
  const TextModel unknown("g (float[1,7,5,6] x) => (y) <float[5,7,3,2] W> { y = own.Conv (x, W) }", head);
  EXPECT_TRUE(run({kPass}, unknown).bytes == unknown.bytes());
  // ONNX Runtime's convolutions have weights in Conv's order, whatever is fused into them.
  for (const char* const op : {"FusedConv <activation = \"Relu\">", "NhwcFusedConv"}) {
    const TextModel fused("g (float[1,7,5,6] x) => (y) <float[5,7,3,2] W> { y = com.microsoft." + std::string(op) + " (x, W) }", head);
    EXPECT_THAT(dims_of(run({kPass}, fused), "W.channels_last"), ElementsAre(5, 3, 2, 7)) << op;
  }
}

TEST(WeightsLayout, L30ComputedWeight) {
  expect_stays("g (float[1,7,5,6] x, float[5,7,3,2] w) => (float[1,5,3,5] y) { y = Conv (x, w) }", Reason::not_constant);
  expect_stays("g (float[1,7,5,6] x, float[5,7,3,2] w) => (float[1,5,3,5] y) { v = Neg (w)  y = Conv (x, v) }", Reason::not_constant);
}

TEST(WeightsLayout, L31To33Shared) {
  const TextModel convolutions(
      "g (float[1,7,5,6] x) => (float[1,5,3,5] y, float[1,5,3,5] z) <float[5,7,3,2] W> { y = Conv (x, W)  n = Neg (x)  z = Conv (n, W) }");
  EXPECT_EQ(expect_moves(convolutions).findings.size(), 2U);
  expect_moves("g (float[1,7,5,6] x) => (float[1,5,3,5] y, int64[4] z) <float[5,7,3,2] W> { y = Conv (x, W)  z = Shape (W) }");
  expect_moves(
      "g (float[1,4,5,6] x) => (float[1,4,3,5] y, float[1,4,7,7] z) <float[4,4,3,2] W> { y = Conv (x, W)  z = ConvTranspose (x, W) }");
}

TEST(WeightsLayout, L34EqualBytesStayTwo) {
  expect_moves(TextModel("g (float[1,7,5,6] x) => (float[1,5,3,5] y, float[1,5,3,5] z) <float[5,7,3,2] W, float[5,7,3,2] V> { y = Conv (x, "
                         "W)  z = Conv (x, V) }")
                   .set("V", old_values(TextModel("g (float[1] x) => (float[1] y) <float[5,7,3,2] W> { y = Neg (x) }"), "W")),
               2);
}

TEST(WeightsLayout, L35ThroughIdentity) {
  expect_moves(
      "g (float[1,7,5,6] x) => (float[1,5,3,5] y, float[1,5,3,5] z) <float[5,7,3,2] W> { i = Identity (W)  j = Identity (i)  y = Conv (x, "
      "j)  z = Conv (x, W) }");
  expect_stays(
      "g (float[1,7,5,6] x) => (float[1,5,3,5] y, float[5,7,3,2] z) <float[5,7,3,2] W> { i = Identity (W)  y = Conv (x, i)  z = Neg (i) }",
      Reason::shared_use);
}

TEST(WeightsLayout, L36BeforeTheCast) {
  const auto result =
      expect_moves("g (float[1,7,5,6] x) => (float[1,5,3,5] y) <float16[5,7,3,2] W> { c = Cast <to = 1> (W)  y = Conv (x, c) }");
  EXPECT_THAT(dims_of(result, "W.channels_last"), ElementsAre(5, 3, 2, 7));
}

TextModel with_constant_node(TextModel model) {
  return model.edit([](onnx::ModelProto& message) {
    auto& graph = *message.mutable_graph();
    onnx::GraphProto nodes;
    auto& node = *nodes.add_node();
    node.set_op_type("Constant");
    node.set_name("weights/constant");
    node.set_doc_string("kept");
    node.add_output("W");
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = graph.initializer(0);
    for (auto& old : graph.node()) *nodes.add_node() = old;
    graph.mutable_node()->Swap(nodes.mutable_node());
    graph.clear_initializer();
  });
}

TEST(WeightsLayout, L37ConstantNode) {
  const auto result = expect_moves(with_constant_node(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]")));
  const Node& constant = result.model->graph().nodes().front();
  EXPECT_EQ(constant.name(), "weights/constant");
  EXPECT_EQ(constant.message().doc_string(), "kept");
  EXPECT_EQ(constant.output(0)->name(), "W.channels_last");
  EXPECT_EQ(std::next(result.model->graph().nodes().begin())->op_type(), "Transpose");
}

TEST(WeightsLayout, L38And39Sparse) {
  TextModel model = conv("[1,2,3,3]", "[1,2,2,2]", "[1,1,2,2]");
  model.edit([](onnx::ModelProto& message) {
    auto& graph = *message.mutable_graph();
    graph.clear_initializer();
    auto& sparse = *graph.add_sparse_initializer();
    for (const int dim : {1, 2, 2, 2}) sparse.add_dims(dim);
    sparse.mutable_values()->set_name("W");
    sparse.mutable_values()->set_data_type(1);
    sparse.mutable_values()->add_dims(1);
    sparse.mutable_values()->add_float_data(2);
    sparse.mutable_indices()->set_data_type(7);
    sparse.mutable_indices()->add_dims(1);
    sparse.mutable_indices()->add_int64_data(3);
  });
  expect_stays(model, Reason::sparse);
}

TEST(WeightsLayout, L40CapturedByASubgraph) {
  const auto result = expect_moves(R"(g (bool k, float[1,7,5,6] x) => (float[1,5,3,5] y) <float[5,7,3,2] W> {
    y = If (k) <then_branch = t () => (float[1,5,3,5] p) { p = Conv (x, W) }, else_branch = e () => (float[1,5,3,5] q) { r = Neg (x)  q = Conv (r, W) }> })");
  EXPECT_EQ(result.model->graph().nodes().front().op_type(), "Transpose");
}

TEST(WeightsLayout, L41And42OwnInitializersOfSubgraphs) {
  const auto result = expect_moves(R"(g (bool k, float[1,7,5,6] x) => (float[1,5,3,5] y) {
    y = If (k) <then_branch = t () => (float[1,5,3,5] p) <float[5,7,3,2] W> { p = Conv (x, W) },
                else_branch = e () => (float[1,5,3,5] q) <float[5,7,3,2] W> { r = Neg (x)  q = Conv (r, W) }> })",
                                   2);
  EXPECT_EQ(result.model->graph().nodes().size(), 1U) << "not hoisted";
}

TEST(WeightsLayout, L43Function) {
  TextModel model(R"(g (float[1,2,4,4] x) => (float[1,2,2,2] y) { a = local.block (x)  y = local.block (a) }
    <opset_import: ["" : 17], domain: "local"> block (u) => (v) { W = Constant <value = float[2,2,2,2] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> ()  v = Conv (u, W) })",
                  R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)");
  const auto result = expect_moves(model);
  EXPECT_EQ(result.findings.size(), 1U);
}

TEST(WeightsLayout, L44GraphOutput) {
  const auto result = expect_moves("g (float[1,7,5,6] x) => (float[1,5,3,5] y, float[5,7,3,2] W) <float[5,7,3,2] W> { y = Conv (x, W) }");
  EXPECT_EQ(result.model->graph().find("W")->producer()->op_type(), "Transpose");
}

TEST(WeightsLayout, L45Overridable) {
  const TextModel model("g (float[1,7,5,6] x, float[5,7,3,2] W) => (float[1,5,3,5] y) <float[5,7,3,2] W> { y = Conv (x, W) }");
  expect_stays(model, Reason::overridable);
  PassOptions options;
  options.freeze = true;
  const auto result = run({kPass}, model, options);
  EXPECT_EQ(result.count("Transpose"), 1);
  EXPECT_EQ(result.model->graph().inputs().size(), 1U);
}

TEST(WeightsLayout, L46Ir3) {
  const auto result = expect_moves(with_initializers_as_inputs(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]", "", "Conv", 8)));
  const auto& input = result.model->message().graph().input(1);
  EXPECT_EQ(input.name(), "W.channels_last");
  EXPECT_EQ(input.type().tensor_type().shape().dim(3).dim_value(), 7);
}

TEST(WeightsLayout, L47ValueInfoStays) {
  const auto result = expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").edit([](onnx::ModelProto& message) {
    auto& info = *message.mutable_graph()->add_value_info();
    info = message.graph().input(0);
    info.set_name("W");
    const int dims[] = {5, 7, 3, 2};
    for (int i = 0; i < 4; ++i) info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(i)->set_dim_value(dims[i]);
  }));
  ASSERT_EQ(result.model->message().graph().value_info_size(), 1);
}

onnx::TensorProto saved_weight(const PassResult& result) {
  onnx::ModelProto saved;
  EXPECT_TRUE(saved.ParseFromString(result.bytes));
  return saved.graph().initializer(0);
}

TEST(WeightsLayout, L48TypedFields) {
  const auto floats = expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").typed_data());
  EXPECT_FALSE(saved_weight(floats).has_raw_data());
  expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").cast(DataType::float64).typed_data());
  expect_stays(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").cast(DataType::float16).typed_data(), Reason::typed_data);
}

TEST(WeightsLayout, L49TensorKeepsItsOtherFields) {
  const auto result = expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").edit([](onnx::ModelProto& message) {
    message.mutable_graph()->mutable_initializer(0)->set_doc_string("the weight");
  }));
  EXPECT_EQ(saved_weight(result).doc_string(), "the weight");
}

TEST(WeightsLayout, L56NamesAreTaken) {
  TextModel model(R"(g (bool k, float[1,7,5,6] x) => (float[1,5,3,5] y) <float[5,7,3,2] W> { c = Conv (x, W)
    y = If (k) <then_branch = t () => (float[1,5,3,5] p) { n = Neg (c)  p = Neg (n) }, else_branch = e () => (float[1,5,3,5] q) { q = Neg (c) }> })");
  const auto result = expect_moves(model.rename("n", "W.channels_last"));
  EXPECT_THAT(dims_of(result, "W.channels_last_2"), ElementsAre(5, 3, 2, 7));
}

TEST(WeightsLayout, L57OddNames) {
  for (const std::string& name :
       {std::string("a/b c.weight"), std::string("gewicht→ß"), std::string(10'000, 'w'), std::string("line\nbreak")}) {
    expect_moves(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").rename("W", name));
  }
}

TextModel by_hand(const std::string& perm, const std::string& stored, const std::string& more = "", const std::string& outputs = "") {
  return "g (float[1,7,5,6] x) => (float[1,5,3,5] y" + outputs + ") <float" + stored +
         " w_cl> { a = Relu (x)  w = Transpose <perm = " + perm + "> (w_cl)  y = Conv (a, w) " + more + "}";
}

TEST(WeightsLayout, L58And59ByHand) {
  const TextModel model = by_hand("[0,3,1,2]", "[5,3,2,7]");
  expect_stays(model, Reason::already_channels_last, Verdict::not_applicable);
  const auto result = run({kPass}, model, contiguous());
  EXPECT_EQ(result.count("Transpose"), 0);
  EXPECT_THAT(dims_of(result, "w"), ElementsAre(5, 7, 3, 2));
  expect_same(model, result, {kPass}, contiguous());
}

TEST(WeightsLayout, L60ByHandWithTwoReadersAndAnOutput) {
  const auto result =
      run({kPass}, by_hand("[0,3,1,2]", "[5,3,2,7]", " z = Conv (x, w) ", ", float[1,5,3,5] z, float[5,7,3,2] w"), contiguous());
  EXPECT_EQ(result.count("Transpose"), 0);
  EXPECT_EQ(result.findings.size(), 2U);
}

TEST(WeightsLayout, L61NotAConvolution) {
  const TextModel model(
      "g (float[5,7,3,2] x) => (float[5,7,3,2] y) <float[5,3,2,7] c> { t = Transpose <perm = [0,3,1,2]> (c)  y = Mul (x, t) }");
  EXPECT_TRUE(run({kPass}, model, contiguous()).bytes == model.bytes());
}

TEST(WeightsLayout, L62And63OtherOrders) {
  for (const PassOptions& options : {PassOptions{}, contiguous()}) {
    expect_stays(by_hand("[0,2,3,1]", "[5,2,7,3]"), Reason::other_order, Verdict::skipped, options);
    expect_stays(by_hand("[0,1,3,2]", "[5,7,2,3]"), Reason::other_order, Verdict::skipped, options);
    expect_stays(by_hand("[3,2,0,1]", "[3,2,7,5]"), Reason::other_order, Verdict::skipped, options);
  }
  expect_stays("g (float[1,7,5,6] x) => (float[1,5,3,5] y) <float[2,3,7,5] w_cl> { w = Transpose (w_cl)  y = Conv (x, w) }",
               Reason::other_order, Verdict::skipped, contiguous());
}

TEST(WeightsLayout, L64TwoTransposes) {
  const TextModel model(
      "g (float[1,7,5,6] x) => (float[1,5,3,5] y) <float[5,3,7,2] v> { t = Transpose <perm = [0,1,3,2]> (v)  w = Transpose <perm = "
      "[0,3,1,2]> (t)  y = Conv (x, w) }");
  EXPECT_TRUE(run({kPass}, model, contiguous()).bytes == model.bytes());
  EXPECT_TRUE(run({kPass}, model).bytes == model.bytes());
}

TEST(WeightsLayout, L65SquareTraps) {
  expect_moves(conv("[1,3,5,5]", "[3,3,3,3]", "[1,3,3,3]"));
  const TextModel stored(
      "g (float[1,4,5,5] x) => (float[1,4,2,2] y) <float[4,4,4,4] v> { w = Transpose <perm = [0,3,1,2]> (v)  y = Conv (x, w) }");
  expect_stays(stored, Reason::already_channels_last, Verdict::not_applicable);
}

TEST(WeightsLayout, L66UnsortedInput) {
  TextModel model("g (float[1,7,5,6] x) => (float[1,5,3,5] y) <float[5,7,3,2] W> { a = Relu (x)  y = Conv (a, W) }");
  model.edit([](onnx::ModelProto& message) { message.mutable_graph()->mutable_node()->SwapElements(0, 1); });
  const auto result = run({kPass}, model);
  EXPECT_EQ(result.model->graph().nodes().front().op_type(), "Transpose");
  EXPECT_NO_THROW((void)TextModel::of(result.bytes).load());
}

TEST(WeightsLayout, L67Opsets) {
  for (const int opset : {1, 6, 7, 12, 13, 17, 21, 22}) {
    const TextModel model = conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]", "kernel_shape = [3,2]", "Conv", opset);
    const auto result = run({kPass}, model);
    EXPECT_EQ(result.count("Transpose"), 1);
    EXPECT_TRUE(run({kPass}, TextModel::of(result.bytes), contiguous()).bytes == model.bytes());
  }
}

TEST(WeightsLayout, L68FunctionsOnly) {
  const TextModel model(R"(g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = local.block (x) }
    <opset_import: ["" : 17], domain: "local"> block (u) => (v) { v = Neg (u) })",
                        R"(<ir_version: 8, opset_import: ["local" : 1]>)");
  EXPECT_TRUE(run({kPass}, model).bytes == model.bytes());
}

TEST(WeightsLayout, L55OtherInitializersNearby) {
  expect_moves(
      "g (float[1,7,5,6] x) => (float[1,5,3,5] y, string[1] t) <float[5,7,3,2] W> { y = Conv (x, W)  t = Constant <value_strings = "
      "[\"a\"]> () }");
}

TEST(WeightsLayout, L71FoldedBackByAnotherTool) {
  // Constant folding of a converted model leaves the plain weight under the old name, which moves again.
  const TextModel before = conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]");
  const auto once = run({kPass}, before);
  EXPECT_TRUE(run({kPass}, TextModel::of(run({kPass}, TextModel::of(once.bytes), contiguous()).bytes)).bytes == once.bytes);
}

TEST(WeightsLayout, L69AfterAFold) {
  const TextModel before = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)");
  const auto folded = run(kFolds, before);
  const auto both = run({kFoldBatchNorm, kPass}, before);
  EXPECT_THAT(dims_of(both, "W.channels_last"), ElementsAre(4, 3, 3, 3));
  EXPECT_TRUE(run({kPass}, TextModel::of(both.bytes), contiguous()).bytes == folded.bytes);
  expect_same(before, both, {kFoldBatchNorm, kPass}, {});
}

TEST(WeightsLayout, L69FoldOfAConvertedModel) {
  const auto converted = run({kPass}, conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)"));
  const auto folded = run({kFoldBatchNorm, kPass}, TextModel::of(converted.bytes));
  EXPECT_EQ(folded.count("BatchNormalization"), 0);
  EXPECT_EQ(folded.count("Transpose"), 1);
}

TEST(WeightsLayout, L70PlainModelIsContiguous) {
  expect_stays(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]"), Reason::already_contiguous, Verdict::not_applicable, contiguous());
}

TEST(WeightsLayout, L72TrainingInfoKeepsItsWeights) {
  expect_stays(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]").edit([](onnx::ModelProto& message) {
    auto& binding = *message.add_training_info()->add_update_binding();
    binding.set_key("W");
    binding.set_value("W_new");
  }),
               Reason::training_info);
}

TEST(WeightsLayout, ExcludedConvolutions) {
  PassOptions options;
  options.exclude = {"y"};
  expect_stays(conv("[1,7,5,6]", "[5,7,3,2]", "[1,5,3,5]"), Reason::excluded, Verdict::skipped, options);
}

}  // namespace
}  // namespace relayout::test
