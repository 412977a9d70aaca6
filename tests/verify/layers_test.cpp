
#include "verify/compare/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "narrow.h"
#include "networks.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Values of nodes whose own outcome is different.
std::vector<std::string> wrong_values(const VerifyResult& result) {
  std::vector<std::string> out;
  for (const LayerResult& layer : result.layers) {
    if (layer.outcome == Outcome::different) out.push_back(layer.tensor);
  }
  return out;
}

VerifyOptions by_layers() {
  VerifyOptions options;
  options.layers = true;
  return options;
}

/// `depth` convolutions with normalization and Relu, 1×1 for speed.
Network deep(uint64_t seed, int depth, int64_t channels = 8) {
  Network n(seed);
  n.input("x", {"N", std::to_string(channels), "6", "5"}).output("y", {"N", std::to_string(channels), "6", "5"});
  std::string at = "x";
  for (int i = 0; i < depth; ++i) {
    const std::string number = std::to_string(i), next = i + 1 == depth ? "y" : "r" + number;
    n.convolution("c" + number, at, "c" + number + ".y", {channels, channels, 1, 1}, {});
    n.batch_norm("n" + number, "c" + number + ".y", "n" + number + ".y", channels);
    n.node("Relu", {"n" + number + ".y"}, {next});
    at = next;
  }
  return n;
}

void fold(Network& n) {
  for (const std::string& value : n.outputs_of("BatchNormalization")) test::fold_batch_norm(n, value);
}

void scale_weight(Network& n, const std::string& name, float by) {
  n.edit(name, [by](std::vector<float>& v) {
    for (float& value : v) value *= by;
  });
}

TEST(Layers, FlattenedValuesAreInnocentAndTheProductUpstreamOfAReshapeIsNamed) {
  // ONNX Runtime and onnxsim write a product over three dims as Reshape, Gemm, Reshape, and the upstream value keeps its name.
  const auto make = [](bool flat) {
    Network n(1);
    n.input("x", {"2", "3", "4"}).output("z", {"2", "3", "5"});
    n.normal("w", {4, 5}).normal("b", {5}).integers("flat", {2}, {6, 4}).integers("full", {3}, {2, 3, 5});
    if (flat) {
      n.node("Reshape", {"x", "flat"}, {"x.flat"}).set_name("flatten");
      n.node("Tanh", {"x.flat"}, {"t"});
      n.node("Gemm", {"t", "w", "b"}, {"g"}).set_name("gemm");
      n.node("Reshape", {"g", "full"}, {"s"}).set_name("back");
    } else {
      n.node("Tanh", {"x"}, {"t"});
      n.node("MatMul", {"t", "w"}, {"m"});
      n.node("Add", {"m", "b"}, {"s"});
    }
    n.node("Tanh", {"s"}, {"z"});
    return n;
  };
  Network a = make(false);
  EXPECT_THAT(wrong_values(verified(a, make(true))), IsEmpty());
  for (const std::string constant : {"w", "b"}) {
    Network b = make(true);
    scale_weight(b, constant, 1.5F);
    const VerifyResult result = verified(a, b);
    EXPECT_EQ(result.outcome, Outcome::different);
    ASSERT_THAT(wrong_values(result), ElementsAre("s")) << constant;
    EXPECT_EQ(result.layers[0].node, "gemm") << constant;
  }
  // Elements in a different order are not a flattening.
  Network b = make(true);
  b.node("Transpose", {"x"}, {"x.turned"}, {"perm=0,2,1"}).set_name("turn");
  b.producer("x.flat").set_input(0, "x.turned");
  b.sort();
  EXPECT_EQ(verified(a, b).outcome, Outcome::different);
}

TEST(Layers, EvidenceOfAReaderHoldsDespiteAFaultDownstream) {
  // b transposes t, and the product transposes it back; the fault is downstream.
  const auto make = [](bool turned, float slope) {
    Network n(1);
    n.input("x", {"3", "4"}).output("z", {"3", "5"});
    n.normal("w", {4, 5}).floats("slope", {1}, {slope});
    n.node("Tanh", {"x"}, {turned ? "t.straight" : "t"});
    if (turned) n.node("Transpose", {"t.straight"}, {"t"});
    n.node("Gemm", {"t", "w"}, {"g"}, turned ? std::vector<std::string>{"transA=1"} : std::vector<std::string>{});
    n.node("Tanh", {"g"}, {"u"});
    n.node("Mul", {"u", "slope"}, {"z"});
    return n;
  };
  const VerifyResult result = verified(make(false, 0.7F), make(true, 0.8F));
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(wrong_values(result), ElementsAre("z"));
}

TEST(Layers, V73TwoWrongNodesOfAHundredAreTheseTwo) {
  Network a = deep(1, 33), b = a;  // 99 nodes
  scale_weight(b, "c5.w", 1.5F);
  b.producer("r20").set_op_type("Abs");
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different);
  EXPECT_THAT(wrong_values(result), ElementsAre("c5.y", "r20"));
  EXPECT_THAT(result.layers, SizeIs(2)) << "only what differs is kept";
}

TEST(Layers, V74AWrongFoldNamesTheRegion) {
  Network a = classifier(1), b = a;
  test::fold_batch_norm(b, "n1.y");
  test::fold_batch_norm(b, "n2.y", {.scale_bias = false});
  const VerifyResult result = verified(a, b);
  EXPECT_THAT(wrong_values(result), ElementsAre("n2.y"));
  EXPECT_EQ(result.layers.front().op_type, "Conv");
  EXPECT_THAT(result.layers.front().replaces, ElementsAre(HasSubstr("Conv"), HasSubstr("BatchNormalization")));
}

TEST(Layers, V75AllNamesChanged) {
  Network a = deep(2, 4), b = a;
  scale_weight(b, "c2.w", 1.2F);
  for (auto& node : *b.graph().mutable_node()) node.clear_name();
  for (int i = 0; i < 4; ++i) {
    for (const std::string& name : {"c" + std::to_string(i) + ".y", "n" + std::to_string(i) + ".y", "r" + std::to_string(i)}) {
      if (name == "r3") continue;
      b.replace_uses(name, "other." + name);
      std::ranges::replace(*b.producer(name).mutable_output(), name, "other." + name);
    }
  }
  const VerifyResult result = verified(a, b);
  EXPECT_THAT(wrong_values(result), ElementsAre("other.c2.y"));
  EXPECT_TRUE(result.layers.front().by_structure);
  EXPECT_EQ(result.layers.front().reference, "c2.y");
}

TEST(Layers, V78ANodeThatAmplifiesNoiseIsNotWrong) {
  // 1 / (u - v) of two nearly equal sums: the error jumps with the floor.
  Network a(3);
  a.input("x", {"N", "32"}).output("y", {"N", "32"});
  a.normal("w", {32, 32}, 0.2).uniform("near", {32}, 0.9999, 1.0001);
  a.node("MatMul", {"x", "w"}, {"u"}), a.node("Mul", {"u", "near"}, {"v"}), a.node("Sub", {"u", "v"}, {"d"});
  a.node("Div", {"u", "d"}, {"q"}), a.node("Tanh", {"q"}, {"y"});
  Network b = a;
  b.edit("w", [](auto& v) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::nextafter(v[i], i % 3 == 0 ? 9.0F : -9.0F);
  });
  const VerifyResult result = verified(a, b, by_layers());
  EXPECT_NE(result.outcome, Outcome::different) << summary(result);
  EXPECT_THAT(wrong_values(result), IsEmpty());
}

/// A convolution in the middle has a different weight, by less than its floor.
Network other_weight(Network network, const std::string& name) {
  network.edit(name, [](std::vector<float>& values) { values[5] *= 1.000002F; });
  return network;
}

TEST(Layers, WithoutARequestOnlyOpenNodesRunAndShowTheSameFigures) {
  const Network a = deep(4, 5);
  for (const std::string weight : {"c0.w", "c2.w", "c4.w"}) {
    const Network b = other_weight(a, weight);
    const VerifyResult brief = verified(a, b), whole = verified(a, b, by_layers());
    ASSERT_THAT(brief.checks, SizeIs(1)) << weight;
    ASSERT_THAT(whole.checks, SizeIs(1)) << weight;
    EXPECT_EQ(brief.outcome, Outcome::same) << summary(brief);
    EXPECT_GT(brief.checks[0].error, 0) << weight;
    EXPECT_EQ(brief.checks[0].error, whole.checks[0].error) << weight;
    EXPECT_EQ(brief.checks[0].node, whole.checks[0].node) << weight;
    EXPECT_EQ(brief.checks[0].sample, whole.checks[0].sample) << weight;
    EXPECT_GT(brief.checks[0].floor, 0) << weight;
    EXPECT_LE(brief.checks[0].floor, whole.checks[0].floor) << weight << ": of fewer draws";
  }
}

TEST(Layers, OnRequestEveryValueIsListedWithItsErrorByDepth) {
  Network a = deep(4, 5), b = a;
  fold(b);
  const VerifyResult result = verified(a, b, by_layers());
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  ASSERT_THAT(result.layers, SizeIs(10));
  for (const LayerResult& layer : result.layers) {
    EXPECT_EQ(layer.outcome, Outcome::same) << layer.tensor << ": " << layer.reason;
    ASSERT_TRUE(layer.depth.error && layer.depth.floor) << layer.tensor;
    EXPECT_LE(*layer.depth.error, 20 * *layer.depth.floor) << layer.tensor;
    EXPECT_GT(layer.floor.max, 0) << layer.tensor;
  }
  EXPECT_EQ(result.layers.front().tensor, "n0.y");
  EXPECT_EQ(result.layers[1].error, 0) << "a Relu of the same numbers is the same";
}

TEST(Layers, NonFiniteErrorsAreReported) {
  Network a(3);
  a.input("x", {"2", "8"}).output("y", {"2", "8"}).normal("w", {8, 8}).normal("b", {8});
  a.node("MatMul", {"x", "w"}, {"u"}), a.node("Add", {"u", "b"}, {"v"}), a.node("Tanh", {"v"}, {"y"});
  for (const float other : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Network b = a;
    b.edit("b", [&](auto& values) { values[3] = other; });
    const VerifyResult result = verified(a, b, by_layers());
    ASSERT_THAT(result.layers, SizeIs(3));
    EXPECT_TRUE(result.layers[0].finite);
    EXPECT_FALSE(result.layers[1].finite) << other;
    EXPECT_EQ(result.layers[1].depth.error, std::numeric_limits<double>::infinity()) << other;
    EXPECT_TRUE(result.layers[2].finite) << "fed the values of a, it makes the same";
  }
}

TEST(Layers, V21ACorrectFoldOfADeepNetIsSame) {
  Network a = deep(12, 60), b = a;
  fold(b);
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_LT(result.outputs.front().ratio, 3);
}

TEST(Layers, WithoutRequestAGoodResultHasNone) {
  Network a = deep(4, 3), b = a;
  fold(b);
  EXPECT_THAT(verified(a, b).layers, IsEmpty());
}

TEST(Layers, NanIsNamedWhereItArises) {
  Network a = deep(5, 6), b = a;
  b.edit("c3.w", [](auto& v) { v[5] = std::nanf(""); });
  const VerifyResult result = verified(a, b);
  EXPECT_THAT(wrong_values(result), ElementsAre("c3.y"));
  EXPECT_THAT(result.layers.front().reason, HasSubstr("NaN in B only"));
}

TEST(Layers, ADifferentShapeInside) {
  Network a(6);
  a.input("x", {"N", "4", "6"}).output("y", {"N", "4"});
  a.node("Relu", {"x"}, {"r"}), a.node("ReduceSum", {"r"}, {"s"}, {"keepdims=0"});
  a.integers("ax", {1}, {2});
  a.producer("s").add_input("ax");
  a.node("Exp", {"s"}, {"y"});
  Network b = a;
  b.edit("ax", [](auto&) {});
  b.remove_initializer("ax");
  b.integers("ax", {1}, {1});
  const VerifyResult result = verified(a, b);
  EXPECT_THAT(wrong_values(result).front(), "s");
  EXPECT_THAT(result.layers.front().reason, HasSubstr("was f32[2, 4]"));
}

TEST(Layers, V76AnErrorInsideALoopsBodyIsNamed) {
  const auto make = [](float factor) {
    Network n(9);
    n.input("x", {"4", "6"}).output("y", {"4", "6"});
    n.integers("count", {}, {3}).node("Relu", {"x"}, {"r"});
    auto& loop = n.node("Loop", {"count", "", "r"}, {"l"});
    n.node("Neg", {"l"}, {"y"});
    auto& attribute = *loop.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    Network body(10);
    body.graph().set_name("body");
    const auto declare = [](onnx::ValueInfoProto& info, const char* name, int type) {
      info.set_name(name);
      info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    };
    declare(*body.graph().add_input(), "i", onnx::TensorProto::INT64);
    declare(*body.graph().add_input(), "go", onnx::TensorProto::BOOL);
    declare(*body.graph().add_input(), "state", onnx::TensorProto::FLOAT);
    declare(*body.graph().add_output(), "on", onnx::TensorProto::BOOL);
    declare(*body.graph().add_output(), "next", onnx::TensorProto::FLOAT);
    body.floats("by", {6}, {1.1F, 1.2F, 1.3F, factor, 1.5F, 1.6F});
    body.node("Identity", {"go"}, {"on"}), body.node("Mul", {"state", "by"}, {"next"});
    *attribute.mutable_g() = body.graph();
    return n;
  };
  const VerifyResult result = verified(make(1.4F), make(1.41F));
  ASSERT_TRUE(result.unsupported_a.empty()) << summary(result);
  ASSERT_THAT(wrong_values(result), ElementsAre("l")) << summary(result);
  EXPECT_THAT(result.layers.front().proof.inside, HasSubstr("'by'"));
}

TEST(Layers, ADifferentValueUnderAnOldNameIsNotWrong) {
  // The bias as a separate node: the convolution's output keeps its name but has a different value. Elsewhere a weight is really wrong.
  Network a = deep(10, 4), b = a;
  auto& convolution = b.producer("c1.y");
  const std::string bias = convolution.input(2);
  convolution.mutable_input()->RemoveLast();
  b.floats("bias", {1, 8, 1, 1}, b.values(bias)).insert_after("c1.y", "Add", {"bias"});
  scale_weight(b, "c2.w", 1.3F);
  EXPECT_THAT(wrong_values(verified(a, b)), ElementsAre("c2.y"));
}

/// Scale and shift in front of a product whose bias is a node, then a Softmax that hides all but one class, or another end. `moved`: the
/// product takes them over, so that its result is another value under the same name, and `bias` is added to an entry of the bias.
Network classifier_of_affine(bool moved, std::size_t entry = 0, float bias = 0, const std::string& end = "Softmax") {
  constexpr std::size_t kIn = 8, kOut = 6;
  Network n(5);
  n.input("x", {"N", "8"}).output("y", {"N", "6"});
  n.normal("scale", {8}, 0.2, 1).normal("shift", {8}).normal("w", {8, 6}).floats("b", {6}, {-60, 40, -50, -70, -55, -65});
  if (!moved) {
    n.node("Mul", {"x", "scale"}, {"m"}), n.node("Add", {"m", "shift"}, {"affine"});
  } else {
    const std::vector<float> scale = n.values("scale"), shift = n.values("shift"), weight = n.values("w");
    n.edit("w", [&](std::vector<float>& values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(double{values[i]} * scale[i / kOut]);
    });
    n.edit("b", [&](std::vector<float>& values) {
      for (std::size_t o = 0; o < kOut; ++o) {
        double sum = values[o];
        for (std::size_t i = 0; i < kIn; ++i) sum += double{shift[i]} * weight[i * kOut + o];
        values[o] = static_cast<float>(sum);
      }
      values[entry] += bias;
    });
  }
  n.node("MatMul", {moved ? "x" : "affine", "w"}, {"product"}).set_name("product");
  n.node("Add", {"product", "b"}, {"sum"}).set_name("sum");
  n.node(end, {"sum"}, {"y"});
  return n;
}

TEST(Layers, ADifferentValueUnderAnOldNameIsJudgedWithItsReader) {
  const VerifyResult right = verified(classifier_of_affine(false), classifier_of_affine(true));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  for (std::size_t entry = 0; entry < 6; ++entry) {
    for (const float bias : {0.7F, -0.4F, 0.05F}) {
      const VerifyResult result = verified(classifier_of_affine(false), classifier_of_affine(true, entry, bias));
      EXPECT_EQ(result.outcome, Outcome::different) << entry << ", " << bias << "\n" << summary(result);
      EXPECT_THAT(result.reason, AnyOf(HasSubstr("'product' (MatMul)"), HasSubstr("'sum' (Add)"))) << entry << ", " << bias;
    }
  }
  for (const char* const end : {"Sigmoid", "Tanh", "Softsign"}) {
    const Network a = classifier_of_affine(false, 0, 0, end);
    const VerifyResult moved = verified(a, classifier_of_affine(true, 0, 0, end)),
                       wrong = verified(a, classifier_of_affine(true, 2, 0.05F, end));
    EXPECT_EQ(moved.outcome, Outcome::same) << end << "\n" << summary(moved);
    EXPECT_EQ(wrong.outcome, Outcome::different) << end << "\n" << summary(wrong);
  }
}

class NarrowLayers : public ::testing::TestWithParam<int> {};

TEST_P(NarrowLayers, V42V43CorrectFoldsPass) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto make : {classifier, mobile, segmenter, volumes, lines}) {
      const Network a = make(seed);
      Network b = a;
      fold(b);
      const VerifyResult result = verified(narrowed(a, GetParam()), narrowed(b, GetParam()));
      EXPECT_NE(result.outcome, Outcome::different) << "seed " << seed << "\n" << summary(result);
      EXPECT_THAT(wrong_values(result), IsEmpty());
    }
  }
}

TEST_P(NarrowLayers, AFactorOnAnySingleLayerFails) {
  // In a deep net, 5 % of one layer is lost in the allowed difference of 16-bit numbers at the end; the layer alone shows it.
  const int depth = 24;
  const Network a = deep(7, depth, 16);
  const Network narrow = narrowed(a, GetParam());
  for (int i = 0; i < depth; i += 6) {
    for (const bool folded : {false, true}) {
      Network b = a;
      if (folded) fold(b);
      const std::string weight = b.producer((folded ? "n" : "c") + std::to_string(i) + ".y").input(1);
      scale_weight(b, weight, 1.05F);
      const VerifyResult result = verified(narrow, narrowed(b, GetParam()));
      EXPECT_EQ(result.outcome, Outcome::different) << weight << (folded ? ", folded\n" : "\n") << summary(result);
      ASSERT_THAT(wrong_values(result), SizeIs(1)) << weight;
      EXPECT_EQ(wrong_values(result).front(), (folded ? "n" : "c") + std::to_string(i) + ".y");
    }
  }
}

TEST_P(NarrowLayers, OtherThingsUnderTheSameNameDoNotCount) {
  // An exporter that numbers its values gives old names to different values.
  Network a(8);
  a.input("x", {"N", "64"}).output("y", {"N", "64"});
  a.normal("w", {64, 64}, 0.1).node("MatMul", {"x", "w"}, {"1"}), a.node("Neg", {"1"}, {"2"}), a.node("Neg", {"2"}, {"y"});
  Network b(8);
  b.input("x", {"N", "64"}).output("y", {"N", "64"});
  b.normal("w", {64, 64}, 0.1).node("Neg", {"x"}, {"1"}), b.node("MatMul", {"1", "w"}, {"2"}), b.node("Neg", {"2"}, {"y"});
  const VerifyResult result = verified(narrowed(a, GetParam()), narrowed(b, GetParam()));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowLayers, ::testing::Values(onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16),
                         [](const auto& one) { return one.param == onnx::TensorProto::FLOAT16 ? "Half" : "BFloat16"; });

/// Two products in a row. Flattened, the second one reads the first directly, and not the value of the original's dims next to it.
Network two_products(bool flattened) {
  Network n(29);
  n.input("x", {"N", "4", "6"}).output("y", {"N", "4", "8"}).output("z", {"N", "4", "5"});
  n.normal("w", {6, 8}).normal("bias", {8}).normal("v", {8, 5}).normal("offset", {5});
  if (!flattened) {
    n.node("MatMul", {"x", "w"}, {"p"}), n.node("Add", {"p", "bias"}, {"h"});
    n.node("MatMul", {"h", "v"}, {"q"}), n.node("Add", {"q", "offset"}, {"z"});
  } else {
    // A product of dims is no dim that the proof knows.
    n.integers("six", {1}, {6}).integers("from", {1}, {0}).integers("to", {1}, {2});
    n.node("Shape", {"x"}, {"dims"}), n.node("Slice", {"dims", "from", "to"}, {"outer"});
    n.node("ReduceProd", {"outer"}, {"count"}), n.node("Concat", {"count", "six"}, {"rows"}, {"axis=0"});
    n.node("Reshape", {"x", "rows"}, {"flat"}), n.node("Gemm", {"flat", "w", "bias"}, {"g"});
    n.integers("eight", {1}, {8}).node("Concat", {"outer", "eight"}, {"shape.h"}, {"axis=0"});
    n.node("Reshape", {"g", "shape.h"}, {"h"});
    n.node("Gemm", {"g", "v", "offset"}, {"g2"});
    n.integers("five", {1}, {5}).node("Concat", {"outer", "five"}, {"shape.z"}, {"axis=0"});
    n.node("Reshape", {"g2", "shape.z"}, {"z"});
  }
  n.node("Relu", {"h"}, {"y"});
  return n;
}

TEST(Layers, AValueThatSomeReadersBypassIsNotReplacedByOtherNumbers) {
  const VerifyResult result = verified(two_products(false), two_products(true));
  EXPECT_FALSE(result.proof && result.proof->proved) << "nothing is tested";
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
}

TEST(Layers, RegionsEndAtValuesThatBothHave) {
  Network a = segmenter(1);
  const auto model = Model::from_bytes(a.bytes());
  const Value& end = *model->graph().find("r1");
  const auto nodes = region_of(end, [](const Value& value) { return value.name() == "x"; });
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes.front()->op_type(), "Conv");
  EXPECT_EQ(nodes.back()->op_type(), "Relu");
}

}  // namespace
}  // namespace relayout
