// Tests the differences between two models: each kind of change by an example with all the changes to report.
#include "relayout/model_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/convert.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kNetwork = R"(g (float[1,3,8,8] x) => (float[1,4,8,8] y)
  <float[4,3,3,3] w, float[4] b, float[4] scale, float[4] shift, float[4] mean, float[4] var, float[4,4,1,1] w2> {
  c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w, b)
  n = BatchNormalization (c, scale, shift, mean, var)
  r = Relu (n)
  y = Conv (r, w2)
})";

TextModel network() {
  TextModel out(kNetwork);
  out.name_nodes();
  return out;
}

ModelDiff diff(const TextModel& a, const TextModel& b) {
  return diff_models(*a.load(), *b.load());
}

/// "0, 0, 0"
std::string zeros(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += i > 0 ? ", 0" : "0";
  return out;
}

/// "changed node attribute Conv_0 > Conv_0"
std::vector<std::string> changes_of(const ModelDiff& diff) {
  std::vector<std::string> out;
  for (const ModelChange& change : diff.changes) {
    out.push_back(std::string(to_string(change.kind)) + " " + std::string(to_string(change.subject)) + " " + change.reason + " " +
                  (change.a.empty() ? "-" : change.a) + " > " + (change.b.empty() ? "-" : change.b));
  }
  return out;
}

TEST(ModelDiff, AModelEqualsItself) {
  const ModelDiff same = diff(network(), network());
  EXPECT_THAT(changes_of(same), IsEmpty());
  EXPECT_TRUE(same.is_equal());
  EXPECT_EQ(same.nodes_equal, 4);
  EXPECT_EQ(same.nodes_renamed, 0);
}

TEST(ModelDiff, NamesAreNoDifference) {
  TextModel other = network();
  for (const char* name : {"c", "n", "r", "w", "b", "scale", "shift", "mean", "var", "w2"})
    other.rename(name, std::string("other.") + name);
  other.edit([](onnx::ModelProto& model) {
    for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("node of " + node.output(0));
  });
  const ModelDiff inner = diff(network(), other);
  EXPECT_THAT(changes_of(inner), IsEmpty());
  EXPECT_EQ(inner.nodes_renamed, 4);
  // Names of inputs and outputs are reported, because callers use them.
  other.rename("x", "image").rename("y", "scores");
  const ModelDiff outer = diff(network(), other);
  EXPECT_THAT(changes_of(outer), ElementsAre("renamed input name x > image", "renamed output name y > scores"));
  EXPECT_TRUE(outer.is_equal());
}

TEST(ModelDiff, AConvolutionIsTheSameUpstreamOfADifferentBatchNormalization) {
  TextModel other = network();
  other.edit([](onnx::ModelProto& model) {
    auto* epsilon = model.mutable_graph()->mutable_node(1)->add_attribute();
    epsilon->set_name("epsilon");
    epsilon->set_type(onnx::AttributeProto::FLOAT);
    epsilon->set_f(0.01F);
  });
  const ModelDiff result = diff(network(), other);
  EXPECT_THAT(changes_of(result), SizeIs(1)) << testing::PrintToString(changes_of(result));
  EXPECT_THAT(changes_of(result), ElementsAre(HasSubstr("changed node attribute")));
  EXPECT_EQ(result.nodes_equal, 3);
}

/// Shape arithmetic on a convolution's result, of known dims: the proof compares the constants, not the nodes.
TEST(ModelDiff, NamesOfNodesThatComputeConstantsAreNoDifference) {
  TextModel shapes(R"(g (float[1,3,8,8] x) => (float[4,64] y) <int64[1] axis = {1}, int64[1] rest = {-1}, float[4,3,1,1] w> {
  c = Conv (x, w)
  s = Shape (c)
  n = Gather (s, axis)
  k = Constant <value_ints = [1]> ()
  m = Mul (n, k)
  d = Concat <axis = 0> (m, rest)
  y = Reshape (c, d)
})");
  shapes.name_nodes();
  TextModel other = shapes;
  for (const char* name : {"c", "s", "n", "k", "m", "d", "axis", "rest", "w"}) other.rename(name, std::string("other.") + name);
  const ModelDiff same = diff(shapes, other);
  EXPECT_THAT(changes_of(same), IsEmpty());
  EXPECT_EQ(same.nodes_equal, 7);
  // With a different operand it is a different node, whatever its result.
  other.edit([](onnx::ModelProto& model) { model.mutable_graph()->mutable_node(1)->set_input(0, "x"); });
  EXPECT_THAT(changes_of(diff(shapes, other)), Not(IsEmpty()));
}

TEST(ModelDiff, NamesOfUnusedConstantsAreNoDifference) {
  const auto with = [](const std::string& unread) {
    return TextModel("g (float[2] x) => (float[2] y) <" + unread + "> {\ny = Relu (x)\n}");
  };
  EXPECT_THAT(changes_of(diff(with("float[2] u = {1, 2}, float[2] v = {1, 2}"), with("float[2] p = {1, 2}, float[2] q = {1, 2}"))),
              IsEmpty());
  EXPECT_THAT(changes_of(diff(with("float[2] u = {1, 2}"), with("float[2] p = {1, 2}, float[2] q = {1, 2}"))), SizeIs(1));
  EXPECT_THAT(changes_of(diff(with("float[2] u = {1, 2}"), with("float[2] p = {1, 3}"))), ElementsAre("added initializer tensor - > p"));
}

TEST(ModelDiff, AFoldIsExplained) {
  const TemporaryFolder folder;
  write_file(folder / "a.onnx", network().bytes());
  (void)convert(folder / "a.onnx", folder / "b.onnx", ConvertOptions{});
  const std::unique_ptr<Model> a = Model::load(folder / "a.onnx"), b = Model::load(folder / "b.onnx");
  const ModelDiff folded = diff_models(*a, *b);
  EXPECT_THAT(changes_of(folded),
              ElementsAre("explained node folded Conv_0 > Conv_0", "explained initializer permuted w > w.channels_last"));
  EXPECT_THAT(folded.changes[0].absorbed, ElementsAre("BatchNormalization_1"));
  EXPECT_THAT(folded.changes[0].text, HasSubstr("absorbed 'BatchNormalization_1' (BatchNormalization): recomputed, within 1 ULP"));
  EXPECT_THAT(folded.changes[1].text, HasSubstr("channels-last"));
  EXPECT_FALSE(folded.is_equal());
  // And in reverse.
  const ModelDiff unfolded = diff_models(*b, *a);
  for (const ModelChange& change : unfolded.changes) EXPECT_EQ(change.kind, ChangeKind::explained) << change.text;
}

TEST(ModelDiff, AnAttributeIsReportedWithBothValues) {
  TextModel other = network();
  other.edit([](onnx::ModelProto& model) {
    for (auto& attribute : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (attribute.name() == "pads") attribute.mutable_ints()->Set(0, 2);
    }
    auto* const strides = model.mutable_graph()->mutable_node(3)->add_attribute();
    strides->set_name("strides");
    strides->set_type(onnx::AttributeProto::INTS);
    strides->add_ints(2);
    strides->add_ints(1);
  });
  const ModelDiff changed = diff(network(), other);
  ASSERT_THAT(changes_of(changed), ElementsAre("changed node attribute Conv_0 > Conv_0", "changed node attribute Conv_3 > Conv_3"));
  ASSERT_THAT(changed.changes[0].fields, SizeIs(1));
  EXPECT_EQ(changed.changes[0].fields[0].before, "[1, 1, 1, 1]");
  EXPECT_EQ(changed.changes[0].fields[0].after, "[2, 1, 1, 1]");
  EXPECT_EQ(changed.changes[1].fields[0].before, "absent");
  EXPECT_EQ(changed.changes[1].fields[0].after, "[2, 1]");
}

/// With a computed weight, kernel_shape is the only source of its dims; with a stored one, it repeats them.
TEST(ModelDiff, AnAttributeThatBothWriteAlikeIsNoDifference) {
  const TextModel stored(R"(g (float[1,3,8,8] x) => (float[] y) <float[4,3,3,3] w> { y = Conv <kernel_shape = [3,3]> (x, w) })");
  const TextModel computed(R"(g (float[1,3,8,8] x, float[4,3,3,3] v) => (float[] y) { y = Conv <kernel_shape = [3,3]> (x, v) })");
  const TextModel quantized(R"(g (float[1,3,8,8] x) => (float[] y)
    <int8[4,3,3,3] q = {)" + zeros(108) +
                            R"(}, float[4] s = {1, 2, 3, 4}> {
      w = DequantizeLinear <axis = 0> (q, s)  y = Conv <kernel_shape = [3,3]> (x, w) })");
  for (const auto& [a, b] : {std::pair(&stored, &computed), {&computed, &stored}, {&stored, &quantized}, {&quantized, &stored}}) {
    const ModelDiff found = diff(*a, *b);
    EXPECT_FALSE(found.is_equal());
    EXPECT_THAT(changes_of(found), Each(Not(HasSubstr("attribute"))));
  }
  // With one scale for the whole tensor, the axis is unused.
  const ModelDiff axis =
      diff(R"(g (float[2,3] x) => (float[] y) <float s = {2}> { q = QuantizeLinear <axis = 1> (x, s)  y = DequantizeLinear (q, s) })",
           R"(g (float[2,3] x) => (float[] y) <float[3] t = {2, 3, 4}, float s = {2}> {
                                 q = QuantizeLinear (x, t)  y = DequantizeLinear (q, s) })");
  EXPECT_FALSE(axis.is_equal());
  EXPECT_THAT(changes_of(axis), Each(Not(HasSubstr("attribute"))));
}

/// Where both values print alike, the line states that they differ.
TEST(ModelDiff, AnAttributeThatPrintsAlikeIsReportedAsOtherValues) {
  const auto model = [](const char* value) {
    TextModel out(std::string("g (float[2] x) => (float[] y) { y = local.Op <t = float[2] {1, ") + value + "}, f = 0.1> (x) }",
                  R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)");
    return out.name_nodes();
  };
  const ModelDiff tensor = diff(model("2"), model("3"));
  ASSERT_THAT(changes_of(tensor), ElementsAre("changed node attribute Op_0 > Op_0"));
  EXPECT_EQ(tensor.changes[0].text, "'Op_0' (Op) has other values in t, f32 [2]");
  EXPECT_THAT(tensor.changes[0].fields, IsEmpty());
  TextModel other = model("2");
  other.edit([](onnx::ModelProto& message) {
    for (auto& attribute : *message.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (attribute.name() == "f") attribute.set_f(1e-12F);
    }
  });
  const ModelDiff number = diff(model("2"), other);
  ASSERT_THAT(changes_of(number), ElementsAre("changed node attribute Op_0 > Op_0"));
  EXPECT_EQ(number.changes[0].text, "'Op_0' (Op) has f 1e-12, was 0.1");
}

TEST(ModelDiff, AConstantIsReportedWithItsLargestDifference) {
  TextModel a = network(), b = network();
  a.set("b", {1, 2, 3, 4});
  b.set("b", {1, 2.5, 3, 3});
  const ModelDiff changed = diff(a, b);
  ASSERT_THAT(changes_of(changed), ElementsAre("changed initializer bias b > b"));
  const ModelChange& bias = changed.changes[0];
  EXPECT_EQ(bias.values, 2);
  EXPECT_EQ(bias.max_absolute, 1.0);
  EXPECT_EQ(bias.max_relative, 0.25);
  EXPECT_EQ(bias.text, "bias 'b' differs in 2 of 4 values, by up to 1 (0.25 relative)");
}

TEST(ModelDiff, ADifferentTypeIsReportedWithItsError) {
  TextModel a("g (float[4] x) => (float[4] y) <float[4] c> { y = Add (x, c) }");
  TextModel b("g (float[4] x) => (float[4] y) <float16[4] c> { d = Cast <to: int = 1> (c) y = Add (x, d) }");
  a.set("c", {1, 2, 3, 1.0 / 3});
  b.set("c", {1, 2, 3, 1.0 / 3});
  const ModelDiff changed = diff(a, b);
  EXPECT_FALSE(changed.is_equal());
  bool is_reported = false;
  for (const ModelChange& change : changed.changes) {
    if (change.subject != ChangeSubject::initializer) continue;
    is_reported = true;
    // float16 stores 1/3 with ten bits after the point: 0.33325195.
    EXPECT_EQ(change.values, 1);
    EXPECT_NEAR(change.max_absolute.value_or(0), 1.0 / 3 - 0.333251953125, 1e-7);
  }
  EXPECT_TRUE(is_reported);
}

TEST(ModelDiff, AScalarOfAnotherTypeHasNoDims) {
  TextModel a("g (float[4] x) => (float[4] y) <float c = {0}> { y = Min (x, c) }");
  TextModel b("g (float16[4] x) => (float16[4] y) <float16 c = {0}> { y = Min (x, c) }");
  const ModelDiff changed = diff(a, b);
  const auto constant = std::ranges::find(changed.changes, ChangeSubject::initializer, &ModelChange::subject);
  ASSERT_NE(constant, changed.changes.end());
  EXPECT_EQ(constant->text, "constant 'c' is f16, was f32");
}

/// Although the proof looks through a convolution for the affine downstream, the node is compared on its own.
TEST(ModelDiff, AConvolutionWithOtherWeightsIsComparedOnItsOwn) {
  TextModel other = network();
  other.set("w", std::vector<double>(108, 0.5)).set("b", {4, 3, 2, 1}).set("mean", {1, 2, 3, 4});
  const ModelDiff changed = diff(network(), other);
  EXPECT_EQ(changed.nodes_equal, 4) << testing::PrintToString(changes_of(changed));
  for (const ModelChange& change : changed.changes) {
    EXPECT_EQ(change.kind, ChangeKind::changed) << change.text;
    EXPECT_EQ(change.subject, ChangeSubject::initializer) << change.text;
  }
  other.rename("c", "other.c").rename("w", "other.w");
  const ModelDiff renamed = diff(network(), other);
  EXPECT_EQ(renamed.nodes_equal, 4) << testing::PrintToString(changes_of(renamed));
  EXPECT_EQ(renamed.count(ChangeKind::explained), 0) << testing::PrintToString(changes_of(renamed));
}

/// A fold in another type is not recomputed: the convolution has changed, and the BatchNormalization is removed.
TEST(ModelDiff, AFoldInAnotherTypeIsReportedAtItsConvolution) {
  const TemporaryFolder folder;
  write_file(folder / "a.onnx", network().bytes());
  ConvertOptions options;
  options.rewrite.precision = DataType::float16;
  (void)convert(folder / "a.onnx", folder / "b.onnx", options);
  const std::unique_ptr<Model> a = Model::load(folder / "a.onnx"), b = Model::load(folder / "b.onnx");
  const ModelDiff changed = diff_models(*a, *b);
  EXPECT_THAT(changes_of(changed), AllOf(Contains("changed node node-changed Conv_0 > Conv_0"),
                                         Contains(HasSubstr("added node node-added")), Not(Contains(HasSubstr("accounted")))));
  const auto convolution = std::ranges::find(changed.changes, std::string("node-changed"), &ModelChange::reason);
  ASSERT_NE(convolution, changed.changes.end());
  EXPECT_THAT(convolution->absorbed, ElementsAre("BatchNormalization_1"));
  EXPECT_EQ(convolution->text, "'Conv_0' (Conv) has other constants, 'BatchNormalization_1' (BatchNormalization) next to it is gone");
  const auto permuted = std::ranges::find(changed.changes, std::string("permuted"), &ModelChange::reason);
  ASSERT_NE(permuted, changed.changes.end());
  EXPECT_THAT(permuted->text, AllOf(HasSubstr("channels-last"), HasSubstr("other values"), Not(HasSubstr("byte"))));
}

TEST(ModelDiff, AddedAndRemovedNodes) {
  const TextModel other = TextModel(R"(g (float[1,3,8,8] x) => (float[1,4,8,8] y)
    <float[4,3,3,3] w, float[4] b, float[4] scale, float[4] shift, float[4] mean, float[4] var, float[4,4,1,1] w2> {
    c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w, b)
    n = BatchNormalization (c, scale, shift, mean, var)
    r = Relu (n)
    s = Sigmoid (r)
    y = Conv (s, w2)
  })");
  const ModelDiff added = diff(TextModel(kNetwork), other);
  ASSERT_THAT(changes_of(added), ElementsAre("added node node-added - > s"));
  EXPECT_EQ(added.changes[0].op_type, "Sigmoid");
  const ModelDiff removed = diff(other, TextModel(kNetwork));
  ASSERT_THAT(changes_of(removed), ElementsAre("removed node node-removed s > -"));
}

TEST(ModelDiff, NodesWithoutEffectAreExplained) {
  const TextModel a("g (float[4] x) => (float[4] y) { i = Identity (x) dead = Neg (x) y = Relu (i) }");
  const TextModel b("g (float[4] x) => (float[4] y) { y = Relu (x) }");
  EXPECT_THAT(changes_of(diff(a, b)), ElementsAre("explained node identity i > -", "explained node dead dead > -"));
  EXPECT_THAT(changes_of(diff(b, a)), testing::Contains("explained node identity - > i"));
}

TEST(ModelDiff, InterfaceAndMetadata) {
  TextModel other = network();
  other.edit([](onnx::ModelProto& model) {
    model.set_producer_name("tool");
    auto* const entry = model.add_metadata_props();
    entry->set_key("author");
    entry->set_value("one");
    model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  });
  const ModelDiff changed = diff(network(), other);
  EXPECT_THAT(changes_of(changed),
              ElementsAre("changed input type x > x", "added metadata value - > producer_name", "added metadata value - > author"));
  EXPECT_EQ(changed.changes[0].fields[0].before, "f32 [1, 3, 8, 8]");
  EXPECT_EQ(changed.changes[0].fields[0].after, "f32 [N, 3, 8, 8]");
}

TEST(ModelDiff, TypesOfSequences) {
  const ModelDiff changed = diff(TextModel("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity (x) }"),
                                 TextModel("g (seq(double[2]) x) => (seq(double[2]) y) { y = Identity (x) }"));
  ASSERT_THAT(changes_of(changed), Contains("changed input type x > x"));
  EXPECT_EQ(changed.changes[0].text, "input 'x' is a sequence of f64 [2], was a sequence of f32 [2]");
}

TEST(ModelDiff, AnotherOpsetIsExplainedWhereItMeansTheSame) {
  TextModel other = network();
  other.edit([](onnx::ModelProto& model) { model.mutable_opset_import(0)->set_version(18); });
  const ModelDiff changed = diff(network(), other);
  ASSERT_THAT(changes_of(changed), ElementsAre("explained opset proved ai.onnx > ai.onnx"));
  EXPECT_THAT(changed.changes[0].text, HasSubstr("is '18', was '17'"));
}

TEST(ModelDiff, NestedGraphsAreComparedToo) {
  const auto with = [](const std::string& alpha) {
    return TextModel(
        "g (float[4] x, bool p) => (float[4] y) { y = If (p) <then_branch = t () => (float[4] o) { o = LeakyRelu <alpha: float = " + alpha +
        "> (x) }, else_branch = e () => (float[4] q) { q = Neg (x) }> }");
  };
  EXPECT_THAT(changes_of(diff(with("0.5"), with("0.5"))), IsEmpty());
  const ModelDiff changed = diff(with("0.5"), with("0.25"));
  ASSERT_THAT(changes_of(changed), ElementsAre("changed node attribute o > o"));
  EXPECT_THAT(changed.changes[0].text, HasSubstr("alpha 0.25, was 0.5"));
}

}  // namespace
}  // namespace relayout::test
