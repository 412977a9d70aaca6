// Tests that the precision of a model's computation counts: rounding through 16 bits is a difference unless requested.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "narrow.h"
#include "networks.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verified.h"
#include "verify/coarser_work.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToHalf = "to=10";
constexpr const char* kToBrain = "to=16";

/// Rounds one value through a 16-bit type in place.
void round_through(Network& network, const std::string& value, const char* type) {
  const std::string made = value + ".made";
  onnx::NodeProto& producer = network.producer(value);
  for (std::string& output : *producer.mutable_output()) {
    if (output == value) output = made;
  }
  network.node("Cast", {made}, {value + ".narrow"}, {type}), network.node("Cast", {value + ".narrow"}, {value}, {"to=1"});
  network.sort();
}

struct Place {
  std::string name;
  std::function<Network(uint64_t)> make;
  std::vector<std::string> values;
};

const std::vector<Place>& places() {
  static const std::vector<Place> kPlaces = {
      {"classifier", classifier, {"c1.y", "r1", "n2.y", "p", "g", "y"}},
      {"mobile", mobile, {"c1.y", "r1", "c3.y", "p", "y"}},
      {"segmenter", segmenter, {"n1.y", "r2", "u.y", "cat", "y"}},
      {"volumes", volumes, {"c1.y", "n2.y", "y"}},
      {"lines", lines, {"c1.y", "r1", "y"}},
      {"transformer", transformer, {"h", "q", "s1", "a", "z", "f3", "y"}},
      {"shuffled", shuffled, {"n1.y", "sh", "c4.y", "y"}},
      {"preactivated", preactivated, {"c1.y", "cat", "m", "y"}},
      {"recurrent", recurrent, {"e", "h", "scores"}},
      {"patches", patches, {"p1", "s", "o", "y"}},
      {"statistics", statistics, {"r1", "a2", "d", "z", "y"}},
      {"decisions", decisions, {"l", "scores"}},
  };
  return kPlaces;
}

TEST(Precision, V84RoundingThrough16BitsAnywhereIsADifferenceThatIsNamed) {
  for (const Place& place : places()) {
    for (const std::string& value : place.values) {
      for (const char* const type : {kToHalf, kToBrain}) {
        const Network a = place.make(1);
        Network b = a;
        round_through(b, value, type);
        const VerifyResult result = verified(a, b);
        EXPECT_EQ(result.outcome, Outcome::different) << place.name << " " << value << " " << type << "\n" << summary(result);
        const std::string said = result.reason + (result.remarks.empty() ? "" : result.remarks.back());
        EXPECT_THAT(said, HasSubstr(type == kToHalf ? "f16" : "bf16")) << place.name << " " << value;
      }
    }
  }
}

TEST(Precision, V85ANarrowModelIsTheSameIfRequested) {
  Network a = mobile(1);
  Network b = narrowed(a, onnx::TensorProto::FLOAT16);
  // f32 at both ends, as converters keep them.
  for (auto* const port : {b.graph().mutable_input(0), b.graph().mutable_output(0)}) {
    port->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  b.node("Cast", {"x"}, {"x.half"}, {kToHalf});
  b.producer("c1.y").set_input(0, "x.half");
  b.producer("y").set_output(0, "y.half");
  b.node("Cast", {"y.half"}, {"y"}, {"to=1"});
  b.sort();
  const VerifyResult refused = verified(a, b);
  EXPECT_EQ(refused.outcome, Outcome::different) << summary(refused);
  EXPECT_THAT(refused.reason, AllOf(HasSubstr("3 of 3 convolutions"), HasSubstr("f16"), HasSubstr("--precision fp16 accepts")));
  // The upstream Cast is no convolution.
  EXPECT_THAT(refused.reason, HasSubstr("(first: '" + b.producer("c1.y").name() + "' (Conv))"));
  VerifyOptions meant;
  meant.precision = DataType::float16;
  const VerifyResult accepted = verified(a, b, meant);
  EXPECT_EQ(accepted.outcome, Outcome::same) << summary(accepted);
  // The precision of b is reported once.
  EXPECT_THAT(accepted.lossy, HasSubstr("3 of 3 convolutions"));
  EXPECT_THAT(accepted.remarks, Not(Contains(HasSubstr("3 of 3"))));
  EXPECT_THAT(accepted.remarks, Contains("floors and bounds are those of f16, as --precision means"));
  // A type that is not coarse enough does not accept a coarser one, and does not excuse a wrong model.
  VerifyOptions other;
  other.precision = DataType::bfloat16;
  Network wrong = b;
  wrong.producer("r2").set_op_type("Neg");
  EXPECT_EQ(verified(a, wrong, meant).outcome, Outcome::different);
}

TEST(Precision, CastsThatRoundNothingAreNotCoarser) {
  const auto outcome_of = [](const std::string& interface, const std::string& a, const std::string& b) {
    const Folder folder;
    VerifyOptions options;
    options.threads = 1;
    const auto text = [&](const std::string& body) {
      return "<ir_version: 8, opset_import: [\"\" : 17]> model " + interface + " { " + body + " }";
    };
    return verify(folder.write("a.onnxtxt", text(a)), folder.write("b.onnxtxt", text(b)), options).outcome;
  };
  const std::string halves = "(float16[N, 8] x) => (float16[N, 8] y)", bytes = "(uint8[N, 8] x) => (float[N, 8] y)";
  const std::string words = "(uint16[N, 8] x) => (float[N, 8] y)", reals = "(float[N, 8] x) => (float[N, 8] y)";
  EXPECT_EQ(outcome_of(halves, "y = Identity(x)", "w = Cast<to = 1>(x)\n y = Cast<to = 10>(w)"), Outcome::same);
  EXPECT_EQ(outcome_of(halves, "y = Transpose(x)", "w = Cast<to = 1>(x)\n t = Transpose(w)\n y = Cast<to = 10>(t)"), Outcome::same);
  EXPECT_EQ(outcome_of(bytes, "y = Cast<to = 1>(x)", "h = Cast<to = 10>(x)\n y = Cast<to = 1>(h)"), Outcome::same);
  EXPECT_NE(outcome_of(words, "y = Cast<to = 1>(x)", "h = Cast<to = 10>(x)\n y = Cast<to = 1>(h)"), Outcome::same);
  EXPECT_NE(outcome_of(bytes, "y = Cast<to = 1>(x)", "h = Cast<to = 16>(x)\n t = Add(h, h)\n y = Cast<to = 1>(t)"), Outcome::same);
  EXPECT_NE(outcome_of(reals, "y = Identity(x)", "h = Cast<to = 10>(x)\n y = Cast<to = 1>(h)"), Outcome::same);
}

VerifyOptions meant_in_half() {
  VerifyOptions options;
  options.precision = DataType::float16;
  return options;
}

Network in_half(const Network& network) {
  return narrowed(network, onnx::TensorProto::FLOAT16);
}

/// b in f16, with one of its constants 1 % larger: different, and named.
void expect_named(const Network& a, Network b, const std::string& constant, const std::string& node,
                  const std::function<Network(const Network&)>& convert = in_half) {
  b.edit(constant, [](std::vector<float>& v) {
    for (float& value : v) value *= 1.01F;
  });
  const VerifyResult result = verified(a, convert(b), meant_in_half());
  EXPECT_EQ(result.outcome, Outcome::different) << constant << "\n" << summary(result);
  ASSERT_FALSE(result.layers.empty()) << constant;
  EXPECT_EQ(result.layers.front().node, node) << constant;
}

/// A product by `factor`, and back, which samples of wide numbers drive out of the range of f16.
Network product_and_back(float factor) {
  Network n(1);
  n.input("x", {"N", "3", "8", "8"}).output("y", {"N", "8", "1", "1"});
  n.convolution("c", "x", "c.y", {8, 3, 3, 3}, {"pads=1,1,1,1"}).node("GlobalAveragePool", {"c.y"}, {"g"});
  n.floats("factor", {}, {factor}).floats("less", {}, {1 / factor});
  n.node("Mul", {"g", "factor"}, {"large"}), n.node("Mul", {"large", "less"}, {"small"}), n.node("Neg", {"small"}, {"y"});
  return n;
}

TEST(Precision, SamplesAreWhatTheNarrowerModelHolds) {
  const auto is_smaller = [](const SampleInputs& inputs) { return inputs.deviation > 0; };
  const Network a = product_and_back(16384);
  EXPECT_TRUE(std::ranges::none_of(verified(a, product_and_back(16384.5F)).inputs, is_smaller));  // f32 holds all of them
  const VerifyResult held = verified(a, in_half(a), meant_in_half());
  EXPECT_EQ(held.outcome, Outcome::same) << summary(held);
  EXPECT_THAT(held.remarks, Contains(AllOf(HasSubstr("has smaller inputs: at its usual ones 'large' reaches"), HasSubstr("beyond f16"))));
  EXPECT_FALSE(is_smaller(held.inputs.front()));
  // The numbers of the first sample are usual ones: a model that does not hold these is not the same.
  const Network far = product_and_back(1048576);
  const VerifyResult overflows = verified(far, in_half(far), meant_in_half());
  EXPECT_EQ(overflows.outcome, Outcome::different) << summary(overflows);
  // A large value that A does not have is a fault of B.
  Network plain = product_and_back(16384);
  plain.producer("y").set_input(0, "g");
  plain.remove_node("large"), plain.remove_node("small");
  const VerifyResult added = verified(plain, in_half(a), meant_in_half());
  EXPECT_NE(added.outcome, Outcome::same) << summary(added);
}

/// An affine between an activation and a convolution, or, folded, in the weights of the convolution alone.
Network learned_affine(float scale, float shift, bool folded) {
  Network n(2);
  n.input("x", {"N", "3", "10", "10"}).output("y", {"N", "6", "8", "8"});
  n.convolution("c1", "x", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1"});
  n.node("HardSwish", {"c1.y"}, {"h"});
  n.normal("c2.w", {6, 8, 3, 3}, 0.2).normal("c2.b", {6}, 0.1);
  if (!folded) {
    n.floats("scale", {1}, {scale}).floats("shift", {1}, {shift});
    n.node("Mul", {"scale", "h"}, {"m"}), n.node("Add", {"m", "shift"}, {"a"});
  }
  n.node("Conv", {folded ? "h" : "a", "c2.w", "c2.b"}, {"y"});
  if (!folded) return n;
  const std::vector<float> weights = n.values("c2.w");
  n.edit("c2.w", [&](auto& v) {
    for (float& weight : v) weight *= scale;
  });
  n.edit("c2.b", [&](auto& v) {
    for (std::size_t i = 0; i < weights.size(); ++i) v[i / 72] += weights[i] * shift;
  });
  return n;
}

TEST(Precision, AnAffineThatWeightsDownstreamHoldIsNotMissedWhereItWas) {
  for (const float scale : {0.005F, 0.17F, 4.5F}) {
    const Network a = learned_affine(scale, 0.3F, false);
    const VerifyResult right = verified(a, in_half(learned_affine(scale, 0.3F, true)), meant_in_half());
    EXPECT_EQ(right.outcome, Outcome::same) << scale << summary(right);
    const VerifyResult lost = verified(a, in_half(learned_affine(1, 0.3F, true)), meant_in_half());
    EXPECT_EQ(lost.outcome, Outcome::different) << scale << summary(lost);
  }
  // Within the rounding of products.
  const VerifyResult small = verified(learned_affine(1.002F, 0, false), in_half(learned_affine(1, 0, true)), meant_in_half());
  EXPECT_NE(small.outcome, Outcome::same) << summary(small);
}

TEST(Precision, TheScaleOfAttentionFoldedIntoAProjectionIsTheSame) {
  // 1/√8, computed from the dims of the value that it scales. The scaled value took over the product's name when the factor was folded into
  // w and bias.
  const auto make = [](bool folded) {
    Network n(4);
    n.input("x", {"2", "12", "16"}).output("y", {"2", "2", "12", "12"});
    n.normal("w", {16, 16}, 0.5).normal("bias", {16}, 0.5).normal("k.w", {16, 16}, 0.5);
    n.integers("heads", {4}, {2, 12, 2, 8}).integers("last", {1}, {3}).integers("end", {1}, {4});
    n.node("MatMul", {"x", "w"}, {"m"}).set_name("project");
    n.node("Add", {"bias", "m"}, {"s"}), n.node("Reshape", {"s", "heads"}, {"r"});
    n.node("Transpose", {"r"}, {folded ? "q" : "t"}, {"perm=0,2,1,3"}).set_name("turn");
    if (!folded) {
      n.node("Shape", {"t"}, {"dims"}), n.node("Slice", {"dims", "last", "end"}, {"c"});
      n.node("Cast", {"c"}, {"real"}, {"to=1"}), n.node("Sqrt", {"real"}, {"root"});
      n.node("Div", {"t", "root"}, {"q"});
    }
    n.node("MatMul", {"x", "k.w"}, {"k.m"}).set_name("keys");
    n.node("Reshape", {"k.m", "heads"}, {"k.r"}), n.node("Transpose", {"k.r"}, {"k"}, {"perm=0,2,3,1"});
    n.node("MatMul", {"q", "k"}, {"scores"}), n.node("Softmax", {"scores"}, {"y"});
    for (const char* const constant : {"w", "bias"}) {
      n.edit(constant, [folded](std::vector<float>& v) {
        for (float& value : v) value *= folded ? static_cast<float>(std::sqrt(0.125)) : 1;
      });
    }
    return n;
  };
  const Network a = make(false), b = make(true);
  const VerifyResult right = verified(a, in_half(b), meant_in_half());
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  expect_named(a, b, "w", "project");
  expect_named(a, b, "k.w", "keys");
}

/// Numbers in front of a quantizer that b computes in 16 bits, and what is wrong there.
struct BeforeQuantizer {
  bool dynamic = true;           ///< DynamicQuantizeLinear, else QuantizeLinear
  const char* narrow = nullptr;  ///< the Cast to b's type; nullptr: all in f32
  const char* wrong = "";        ///< an operator between the operand and its quantizer
  float by = 0;                  ///< its other operand
  bool in_narrow = false;        ///< it computes in 16 bits, upstream of the Cast
};

/// y = (x · v) · w, where the second product is one of integers.
Network product_of_integers(uint64_t seed, const BeforeQuantizer& options = {}) {
  Network n(seed);
  n.input("x", {"22", "32"}).output("y", {"22", "24"});
  n.normal("v", {32, 48}, 0.3).normal("w", {48, 24}, 20).floats("w.scale", {}, {0.01F}).floats("by", {}, {options.by});
  const auto zero = [&](const char* name, int type, char value) {
    onnx::TensorProto& tensor = *n.graph().add_initializer();
    tensor.set_name(name), tensor.set_data_type(type), tensor.set_raw_data(std::string(1, value));
  };
  std::string weights;
  for (const float value : n.values("w")) weights += static_cast<char>(value);
  n.remove_initializer("w");
  onnx::TensorProto& w = *n.graph().add_initializer();
  w.set_name("w"), w.set_data_type(onnx::TensorProto::INT8), w.add_dims(48), w.add_dims(24), w.set_raw_data(weights);
  zero("w.zero", onnx::TensorProto::INT8, 0), zero("x.middle", onnx::TensorProto::UINT8, '\x80');
  std::string last = "c";
  const auto harm = [&](const std::string& by) {
    n.node(options.wrong, {last, by}, {last + ".wrong"});
    last += ".wrong";
  };
  if (options.narrow == nullptr) {
    n.node("MatMul", {"x", "v"}, {"c"});
  } else {
    n.node("Cast", {"x"}, {"x.narrow"}, {options.narrow}), n.node("Cast", {"v"}, {"v.narrow"}, {options.narrow});
    n.node("Cast", {"by"}, {"by.narrow"}, {options.narrow});
    n.node("MatMul", {"x.narrow", "v.narrow"}, {"c"});
    if (*options.wrong != '\0' && options.in_narrow) harm("by.narrow");
    n.node("Cast", {last}, {"c.wide"}, {"to=1"});
    last = "c.wide";
    if (*options.wrong != '\0' && !options.in_narrow) harm("by");
  }
  if (options.dynamic) {
    n.node("DynamicQuantizeLinear", {last}, {"q", "q.scale", "q.zero"}).set_name("quantizer");
  } else {
    n.floats("q.scale", {}, {0.05F});
    n.node("QuantizeLinear", {last, "q.scale", "x.middle"}, {"q"}).set_name("quantizer");
  }
  n.node("MatMulInteger", {"q", "w", options.dynamic ? "q.zero" : "x.middle", "w.zero"}, {"sums"}),
      n.node("Cast", {"sums"}, {"real"}, {"to=1"});
  n.node("Mul", {"q.scale", "w.scale"}, {"scale"}), n.node("Mul", {"real", "scale"}, {"y"});
  return n;
}

VerifyOptions meant_in(const char* narrow) {
  VerifyOptions options;
  options.precision = narrow == kToHalf ? DataType::float16 : DataType::bfloat16;
  return options;
}

TEST(Precision, AStepOffThatTheRoundingOfAQuantizersOperandExplainsIsTheSame) {
  for (const bool dynamic : {true, false}) {
    for (const char* const narrow : {kToHalf, kToBrain}) {
      for (const uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        const VerifyResult result = verified(product_of_integers(seed, {.dynamic = dynamic}),
                                             product_of_integers(seed, {.dynamic = dynamic, .narrow = narrow}), meant_in(narrow));
        EXPECT_NE(result.outcome, Outcome::different) << dynamic << narrow << seed << "\n" << summary(result);
        if (narrow == kToHalf) {
          EXPECT_EQ(result.outcome, Outcome::same) << dynamic << seed << "\n" << summary(result);
        }
        EXPECT_THAT(result.remarks, Contains(HasSubstr("to the neighbouring step by rounding"))) << "nothing is tested";
      }
    }
  }
}

TEST(Precision, AStepOffByAFaultInFrontOfAQuantizerIsADifference) {
  struct Fault {
    const char* op;
    float by;
  };
  for (const bool dynamic : {true, false}) {
    const Network a = product_of_integers(1, {.dynamic = dynamic});
    for (const bool in_narrow : {true, false}) {
      for (const Fault& fault : {Fault{"Mul", 1.02F}, {"Mul", 1.002F}, {"Add", 0.005F}, {"Sub", 0.005F}, {"Div", 1.01F}}) {
        const Network b = product_of_integers(1, {dynamic, kToHalf, fault.op, fault.by, in_narrow});
        const VerifyResult result = verified(a, b, meant_in(kToHalf));
        EXPECT_EQ(result.outcome, Outcome::different) << dynamic << in_narrow << fault.op << fault.by << "\n" << summary(result);
      }
    }
    Network weight = product_of_integers(1, {.dynamic = dynamic, .narrow = kToHalf});
    (*weight.tensor("w").mutable_raw_data())[5] += 1;
    EXPECT_EQ(verified(a, weight, meant_in(kToHalf)).outcome, Outcome::different) << dynamic;
    Network operand = product_of_integers(1, {.dynamic = dynamic, .narrow = kToHalf});
    operand.edit("v", [](auto& v) { v[5] += 0.1F; });
    EXPECT_EQ(verified(a, operand, meant_in(kToHalf)).outcome, Outcome::different) << dynamic;
  }
}

TEST(Precision, TheScaleOfAQuantizerIsNotAcquittedByChance) {
  // Integers of few numbers do not show a factor that b's f32 multiplies: their quotients stay, and
  // the result hides it. One number alone, the scale, does.
  const auto alone = [](bool narrow, float factor) {
    Network n(1);
    n.input("x", {"1", "4"}).output("z", {"1", "4"});
    n.floats("v", {4, 4}, {1, 2, 3, 4, 4, 3, 2, 1, 1, 3, 2, 4, 3, 1, 4, 2}).floats("factor", {}, {factor});
    if (narrow) {
      n.node("Cast", {"x"}, {"x.narrow"}, {kToHalf}), n.node("Cast", {"v"}, {"v.narrow"}, {kToHalf});
      n.node("MatMul", {"x.narrow", "v.narrow"}, {"c"}), n.node("Cast", {"c"}, {"c.wide"}, {"to=1"});
      n.node("Mul", {"c.wide", "factor"}, {"c.wrong"});
    } else {
      n.node("MatMul", {"x", "v"}, {"c"});
    }
    n.node("DynamicQuantizeLinear", {narrow ? "c.wrong" : "c"}, {"q", "q.scale", "q.zero"});
    n.node("Cast", {"q"}, {"real"}, {"to=1"}), n.node("Cast", {"q.zero"}, {"middle"}, {"to=1"});
    n.node("Sub", {"real", "middle"}, {"steps"}), n.node("Mul", {"steps", "q.scale"}, {"y"});
    n.node("ReduceL2", {"y"}, {"length"}), n.node("Div", {"y", "length"}, {"z"});
    return n;
  };
  const VerifyResult right = verified(alone(false, 1), alone(true, 1), meant_in(kToHalf));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  for (const float factor : {1.02F, 1.01F, 0.98F}) {
    const VerifyResult scale = verified(alone(false, 1), alone(true, factor), meant_in(kToHalf));
    EXPECT_EQ(scale.outcome, Outcome::different) << factor << summary(scale);
  }
}

/// Eight stages of two branches in f16. 2 % of a weight of one branch is less than all the rounding downstream. `sliced`: the results of
/// the branches pass through Slices that take every element.
Network branches(float factor, bool sliced) {
  Network n(11);
  n.input("x0", {"24", "32"}).output("y", {"24", "32"});
  n.integers("starts", {1}, {0}).integers("ends", {1}, {24}).integers("axes", {1}, {0});
  for (int i = 0; i < 8; ++i) {
    const std::string stage = std::to_string(i), next = i == 7 ? "y" : "x" + std::to_string(i + 1);
    n.normal("s" + stage, {32, 12}, 0.25).normal("l" + stage, {12, 16}, 0.4).normal("r" + stage, {12, 16}, 0.4);
    const auto product = [&](const std::string& name, const std::string& x, const std::string& w) {
      n.node("MatMul", {x, w}, {sliced ? name + ".all" : name}).set_name(name);
      if (sliced) n.node("Slice", {name + ".all", "starts", "ends", "axes"}, {name});
    };
    product("squeeze" + stage, "x" + stage, "s" + stage);
    product("left" + stage, "squeeze" + stage, "l" + stage), product("right" + stage, "squeeze" + stage, "r" + stage);
    n.node("Concat", {"left" + stage, "right" + stage}, {next}, {"axis=1"});
  }
  n.edit("l1", [factor](auto& v) { std::ranges::for_each(v, [&](float& e) { e *= factor; }); });
  return narrowed(n, onnx::TensorProto::FLOAT16);
}

TEST(Precision, AWeightOfOneBranchIsNamedWhereTheOtherModelComputesIn32Bits) {
  const Network a = branches(1, false);
  const VerifyResult right = verified(a, widened(a)), wrong = verified(a, widened(branches(1.02F, false)));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
  ASSERT_FALSE(wrong.layers.empty());
  EXPECT_EQ(wrong.layers.front().node, "left1");
}

TEST(Precision, TheCastOfAWeightIsNotTakenForTheCastOfTheResult) {
  // As ONNX Runtime writes it: b's last Cast is from f32 to f32, and the Gemm reads its weight through a Cast.
  const auto classified = [](float factor) {
    Network n = branches(factor, false);
    n.producer("y").set_output(0, "features");
    n.normal("w", {32, 32}, 0.2).normal("bias", {32}, 0.2);
    n.node("Gemm", {"features", "w", "bias"}, {"scores"}, {"transB=1"}), n.node("Cast", {"scores"}, {"y"}, {"to=1"});
    const onnx::ValueInfoProto output = n.graph().output(0);
    Network half = narrowed(n, onnx::TensorProto::FLOAT16);
    *half.graph().mutable_output(0) = output;
    half.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    Network::set_attribute(half.producer("y"), "to=1");
    return half;
  };
  const auto in_single = [](const Network& network) {
    Network b = widened(network);
    b.remove_node("y");
    b.producer("wide.y").set_output(0, "y");
    b.sort();
    return b;
  };
  const Network a = classified(1);
  const VerifyResult right = verified(a, in_single(a)), wrong = verified(a, in_single(classified(1.02F)));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
  ASSERT_FALSE(wrong.layers.empty());
  EXPECT_EQ(wrong.layers.front().node, "left1");
}

TEST(Precision, AWeightThatOnlyManyProductsTogetherShowIsNotVouchedForByThem) {
  const Network a = branches(1, true);
  const VerifyResult right = verified(a, widened(branches(1, false))), wrong = verified(a, widened(branches(1.02F, false)));
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  EXPECT_EQ(wrong.outcome, Outcome::inconclusive) << summary(wrong);
  EXPECT_THAT(wrong.reason, AllOf(HasSubstr("'wide.l1'"), HasSubstr("more than rounding to f16")));
}

TEST(Precision, TheMeanOfZeroMeanValuesErrsByItsOperandsRounding) {
  // c has the mean 0 except for rounding, and f16 rounds it more: the second mean is an entirely different number, but not wrong.
  Network a(6);
  a.input("x", {"40", "32"}).output("y", {"40", "24"});
  a.normal("w", {32, 32}, 0.2).normal("v", {32, 24}, 0.2);
  a.node("MatMul", {"x", "w"}, {"h"}).set_name("first");
  a.node("ReduceMean", {"h"}, {"mean"}), a.node("Sub", {"h", "mean"}, {"c"});
  a.node("ReduceMean", {"c"}, {"rest"}), a.node("Sub", {"c", "rest"}, {"d"});
  a.node("MatMul", {"d", "v"}, {"y"}).set_name("second");
  const auto over = [](Network& n, const char* mean, int64_t axis) {
    auto& axes = *n.producer(mean).add_attribute();
    axes.set_name("axes");
    axes.set_type(onnx::AttributeProto::INTS);
    axes.add_ints(axis);
  };
  over(a, "mean", 1), over(a, "rest", 1);
  // Sums stay in f32, as converters to f16 leave them.
  const auto convert = [](const Network& network) {
    Network b = in_half(network);
    b.node("Cast", {"c"}, {"c.f32"}, {"to=1"}), b.node("Cast", {"rest"}, {"rest.f16"}, {kToHalf});
    b.producer("rest").set_input(0, "c.f32"), b.producer("d").set_input(1, "rest.f16");
    b.sort();
    return b;
  };
  const VerifyResult right = verified(a, convert(a), meant_in_half());
  EXPECT_EQ(right.outcome, Outcome::same) << summary(right);
  expect_named(a, a, "w", "first", convert);
  expect_named(a, a, "v", "second", convert);
  Network wrong = a;
  wrong.producer("rest").clear_attribute(), over(wrong, "rest", 0);
  EXPECT_EQ(verified(a, convert(wrong), meant_in_half()).outcome, Outcome::different);
}

TEST(Precision, AFactorWithinTheRoundingOfEachElementIsReported) {
  Network a(12);
  a.input("x", {"100", "64"}).output("y", {"100", "48"});
  a.normal("w", {64, 64}, 0.125).normal("v", {64, 48}, 0.125);
  a.node("MatMul", {"x", "w"}, {"h"}).set_name("first");
  a.node("Tanh", {"h"}, {"t"}), a.node("MatMul", {"t", "v"}, {"y"}).set_name("second");
  const auto times = [&](float factor) {
    Network b = a;
    b.edit("w", [&](auto& values) {
      for (float& value : values) value *= factor;
    });
    return verified(a, in_half(b), meant_in_half());
  };
  // Four roundings of f16 are a factor of 1.00195.
  for (const float factor : {1.0F, 1.001F}) EXPECT_EQ(times(factor).outcome, Outcome::same) << factor;
  const VerifyResult result = times(1.003F);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  ASSERT_FALSE(result.layers.empty());
  EXPECT_EQ(result.layers.front().node, "first");
  EXPECT_LT(result.layers.front().error, result.layers.front().bound) << "nothing is tested";
  EXPECT_THAT(result.layers.front().reason, HasSubstr("on the whole larger or smaller by a factor of 1.003"));
}

TEST(Precision, NodesThatOnlyMoveElementsRoundNothing) {
  Network n(1);
  n.input("x", {"2", "3"}, onnx::TensorProto::FLOAT16).output("y", {"3", "2"}, onnx::TensorProto::FLOAT16);
  n.node("Transpose", {"x"}, {"t"}), n.node("Relu", {"t"}, {"y"});
  const auto model = Model::from_bytes(n.bytes());
  EXPECT_EQ(narrow_work(model->graph()).nodes, 0);
}

TEST(Precision, ConstantsHeldIn16BitsCount) {
  Network a(1);
  a.input("x", {"N", "32"}).output("y", {"N", "48"});
  a.normal("w", {32, 48}, 0.3).node("MatMul", {"x", "w"}, {"y"});
  Network b = narrowed(a, onnx::TensorProto::BFLOAT16);
  for (auto* const port : {b.graph().mutable_input(0), b.graph().mutable_output(0)}) {
    port->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  b.node("Cast", {"w"}, {"w.wide"}, {"to=1"});
  b.producer("y").set_input(1, "w.wide");
  b.sort();
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  VerifyOptions meant;
  meant.precision = DataType::bfloat16;
  EXPECT_EQ(verified(a, b, meant).outcome, Outcome::same);
}

/// Logarithms of the power spectrum of a tone of any loudness; most of its bins are empty, down to `least`.
Network levels(float least) {
  constexpr int kLength = 256, kBins = 32;
  std::vector<float> tone, cosines;
  for (int t = 0; t < kLength; ++t) {
    const double phase = 2 * 3.14159265358979 * t / kLength;
    tone.push_back(static_cast<float>(std::cos(5 * phase)));
    for (int bin = 0; bin < kBins; ++bin) cosines.push_back(static_cast<float>(std::cos(bin * phase)));
  }
  Network n(5);
  n.input("x", {"N", "1"}).output("y", {"N", "32"});
  n.floats("tone", {1, kLength}, tone).node("Mul", {"x", "tone"}, {"h"});
  n.floats("cosines", {kLength, kBins}, cosines).node("MatMul", {"h", "cosines"}, {"bins"}), n.node("Mul", {"bins", "bins"}, {"power"});
  n.floats("least", {}, {least}).node("Add", {"power", "least"}, {"above"}), n.node("Log", {"above"}, {"y"});
  return n;
}

/// The transform in a 16-bit type.
Network transformed_in(Network network, const char* type) {
  network.producer("bins").set_output(0, "bins.narrow"), network.producer("bins.narrow").set_input(0, "h.narrow");
  network.producer("bins.narrow").set_input(1, "cosines.narrow");
  network.node("Cast", {"h"}, {"h.narrow"}, {type}), network.node("Cast", {"cosines"}, {"cosines.narrow"}, {type});
  network.node("Cast", {"bins.narrow"}, {"bins"}, {"to=1"});
  network.sort();
  return network;
}

TEST(Precision, AWideFloorAcquitsNothingWhateverTheNodesSay) {
  for (const char* const type : {kToHalf, kToBrain}) {
    VerifyOptions options;
    options.precision = type == kToHalf ? DataType::float16 : DataType::bfloat16;
    const Network a = levels(1e-10F), b = transformed_in(a, type);
    const VerifyResult open = verified(a, b, options);
    EXPECT_EQ(open.outcome, Outcome::inconclusive) << summary(open);
    // A larger least number leaves no small ones to lose.
    const VerifyResult same = verified(levels(100), transformed_in(levels(100), type), options);
    EXPECT_EQ(same.outcome, Outcome::same) << summary(same);
    options.accept.error = 3;
    const VerifyResult judged = verified(a, b, options);
    EXPECT_TRUE(judged.outcome == Outcome::accepted || judged.outcome == Outcome::same) << summary(judged);
    options.accept.error = 0.01;
    const VerifyResult refused = verified(a, b, options);
    EXPECT_EQ(refused.outcome, Outcome::different) << summary(refused);
  }
}

/// A map of probabilities of large scores, few of which are near 0: rounding moves those few far, and the others not at all.
Network steep_map() {
  Network n(1);
  n.input("x", {"256", "16"}).output("y", {"256", "64"}).normal("w", {16, 64}, 2000);
  n.node("MatMul", {"x", "w"}, {"s"}), n.node("Sigmoid", {"s"}, {"y"});
  return n;
}

TEST(Precision, RoundingAloneMayMoveFewElementsFar) {
  const Network a = steep_map();
  VerifyOptions strict = meant_in_half();
  strict.strict = true;
  const VerifyResult rounded = verified(a, in_half(a), strict);
  EXPECT_EQ(rounded.outcome, Outcome::same) << summary(rounded);
  ASSERT_TRUE(rounded.rounded_proof);
  EXPECT_TRUE(rounded.rounded_proof->proved);
  EXPECT_FALSE(rounded.proof->proved);
  // One weight beside its rounding: no less than that is told, and what covers it acquits nothing.
  Network other = a;
  other.edit("w", [](std::vector<float>& v) { v[77] *= 1 + 0x1p-10F; });
  const VerifyResult open = verified(a, in_half(other), meant_in_half());
  EXPECT_NE(open.outcome, Outcome::same) << summary(open);
  ASSERT_TRUE(open.rounded_proof);
  ASSERT_EQ(open.rounded_proof->unexplained.size(), 1U);
  EXPECT_EQ(open.rounded_proof->unexplained[0].name, "w");
  EXPECT_EQ(open.rounded_proof->unexplained[0].values, 1);
}

TEST(Precision, ACastBetweenRealNumbersChoosesNothing) {
  // What 16 bits lose beside a large number is no choice that went the other way.
  for (const float far : {4000.0F, 30000.0F}) {
    Network a(1);
    a.input("x", {"8", "16"}).output("y", {"8", "4"}).floats("far", {}, {far}).normal("w", {16, 4}, 1);
    a.node("Add", {"x", "far"}, {"up"}), a.node("Sub", {"up", "far"}, {"back"}), a.node("MatMul", {"back", "w"}, {"y"});
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
      VerifyOptions options;
      options.precision = type;
      const VerifyResult lost = verified(a, narrowed(a, static_cast<int>(type)), options);
      EXPECT_NE(lost.outcome, Outcome::same) << far << name_of(type) << summary(lost);
    }
  }
}

TEST(Precision, RoundingIsProvedOnlyWhereTheUserMeansIt) {
  const Network a = steep_map();
  EXPECT_FALSE(verified(a, in_half(a)).rounded_proof);
  // What A rounds itself has an order, which a proof across types would not see.
  Network other = a;
  other.edit("w", [](std::vector<float>& v) { v[77] = -v[77]; });
  EXPECT_FALSE(verified(in_half(a), in_half(other), meant_in_half()).rounded_proof);
}

/// Verdict on two texts of a graph; they may use com.microsoft.
VerifyResult verified_graphs(const std::string& a, const std::string& b, const VerifyOptions& given = {}) {
  const Folder folder;
  VerifyOptions options = given;
  options.threads = 1;
  const auto write = [&](const std::string& name, const std::string& graph) {
    return folder.write(name, "<ir_version: 9, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\ng " + graph + "\n");
  };
  return verify(write("a.onnxtxt", a), write("b.onnxtxt", b), options);
}

TEST(Precision, SizesThatRoundingChangesAreTriedWhateverIsProved) {
  const auto graph = [](const std::string& type) {
    return "(float[N, 3] x) => (float[M, 3] y) <int64[1] zero = {0}> { s = Shape <start = 0, end = 1> (x)\n f = Cast <to = " + type +
           "> (s)\n k = Cast <to = 7> (f)\n y = Slice (x, zero, k, zero) }";
  };
  const VerifyResult result = verified_graphs(graph("1"), graph("10"), meant_in_half());
  EXPECT_NE(result.outcome, Outcome::same) << summary(result);
  ASSERT_TRUE(result.rounded_proof);
  EXPECT_TRUE(result.rounded_proof->proved);
}

/// A graph of `inputs` whose Casts give numbers of this type (by its number in ONNX), and the options that mean it.
std::string cast_graph(const std::string& inputs, const std::string& body, int type) {
  std::string out = inputs + " => (float[N, 4] y) { " + body + " }";
  for (std::size_t at = out.find('%'); at != std::string::npos; at = out.find('%')) out.replace(at, 1, std::to_string(type));
  return out;
}

VerifyOptions meant_in(int type) {
  VerifyOptions options;
  options.precision = type == 10 ? DataType::float16 : DataType::bfloat16;
  return options;
}

TEST(Precision, IntegersThat16BitsDoNotHoldAreNotTheSame) {
  const std::vector<std::pair<std::string, std::string>> bodies{
      {"(int64[N, 4] t)",
       "k = Constant<value = float {50256.0}>()\n f = Cast<to = %>(t)\n e = Cast<to = %>(k)\n q = Equal(f, e)\n y = Cast<to = 1>(q)"},
      {"(int64[N, 2, 2] t)",
       "s = Constant<value_ints = [-1, 4]>()\n m = Reshape(t, s)\n f = Cast<to = %>(m)\n q = Sin(f)\n y = Cast<to = 1>(q)"},
      {"(float[N, 4] x)",
       "z = Constant<value = int64 {0}>()\n o = Constant<value = int64 {1}>()\n s = Shape(x)\n n = Gather(s, z)\n"
       "r = Range(z, n, o)\n f = Cast<to = %>(r)\n q = Sin(f)\n c = Cast<to = 1>(q)\n"
       "a = Constant<value_ints = [1]>()\n u = Unsqueeze(c, a)\n y = Mul(x, u)"}};
  for (const int type : {10, 16}) {
    for (const auto& [inputs, body] : bodies) {
      const VerifyResult result = verified_graphs(cast_graph(inputs, body, 1), cast_graph(inputs, body, type), meant_in(type));
      EXPECT_NE(result.outcome, Outcome::same) << body << summary(result);
      if (result.outcome == Outcome::different) continue;  // by a sample
      EXPECT_THAT(result.doubts, ::testing::Contains(::testing::Field(&Doubt::name, "cast-grain"))) << body;
    }
  }
}

TEST(Precision, IntegersThat16BitsHoldAreTheSame) {
  const std::vector<std::pair<std::string, std::string>> bodies{
      // Bytes and signs are held; a product passes on rounding as rounding.
      {"(int64[N, 4] t)",
       "k = Constant<value = float {0.001}>()\n f = Cast<to = %>(t)\n e = Cast<to = %>(k)\n q = Mul(f, e)\n y = Cast<to = 1>(q)"},
      {"(uint8[N, 4] t)", "f = Cast<to = %>(t)\n q = Sqrt(f)\n y = Cast<to = 1>(q)"},
      {"(int64[N, 4] t)", "g = Sign(t)\n f = Cast<to = %>(g)\n q = Sin(f)\n y = Cast<to = 1>(q)"},
      // However larger numbers are rounded, they stay above 100.
      {"(int64[N, 4] t)",
       "k = Constant<value = float {100.0}>()\n f = Cast<to = %>(t)\n e = Cast<to = %>(k)\n q = Equal(f, e)\n y = Cast<to = 1>(q)"}};
  for (const int type : {10, 16}) {
    for (const auto& [inputs, body] : bodies) {
      const VerifyResult result = verified_graphs(cast_graph(inputs, body, 1), cast_graph(inputs, body, type), meant_in(type));
      EXPECT_EQ(result.outcome, Outcome::same) << body << summary(result);
    }
  }
}

TEST(Precision, SizesThat16BitsDoNotHoldAreTried) {
  // Twice the height: of 257 rows bf16 makes 512, of 2,049 rows f16 makes 4,096.
  const auto doubled = [](int type) {
    return "(float[1, 1, H, 4] x) => (float[1, 1, K, 8] y) <int64[1] two = {2}, int64[1] three = {3}, int64[1] zero = {0}, int64[1] w = "
           "{8}> {"
           " s = Shape (x)\n h = Slice (s, two, three)\n f = Cast <to = " +
           std::to_string(type) +
           "> (h)\n g = Add (f, f)\n"
           " k = Cast <to = 7> (g)\n b = Slice (s, zero, two)\n z = Concat <axis = 0> (b, k, w)\n y = Resize <mode = \"nearest\"> (x, , , "
           "z) }";
  };
  for (const int type : {10, 16}) {
    EXPECT_EQ(verified_graphs(doubled(1), doubled(type), meant_in(type)).outcome, Outcome::inconclusive) << type;
  }
  // The root of a size is rounded alone: nothing chooses by it.
  const auto scaled = [](int type) {
    return "(float[N, 4] x) => (float[N, 4] y) { s = Shape <start = 1, end = 2> (x)\n f = Cast <to = " + std::to_string(type) +
           "> (s)\n r = Sqrt (f)\n d = Cast <to = 1> (r)\n y = Div (x, d) }";
  };
  EXPECT_EQ(verified_graphs(scaled(1), scaled(10), meant_in(10)).outcome, Outcome::same);
}

/// Two products with weights of 4 bits, the second with `second` among its attributes.
std::string block_quantized(const std::string& second, const std::string& first = "") {
  std::string bytes;
  for (int i = 0; i < 16 * 8; ++i) bytes += (i == 0 ? "" : ", ") + std::to_string(i * 37 % 251);
  std::string scales = "0.5";
  for (int i = 1; i < 16; ++i) scales += ", 0." + std::to_string(i + 1);
  const std::string product = "com.microsoft.MatMulNBits <K = 16, N = 16, bits = 4, block_size = 16";
  return "(float[N, 16] x) => (float[N, 16] y) <uint8[16, 1, 8] w = {" + bytes + "}, float[16] s = {" + scales + "}> { h = " + product +
         first + "> (x, w, s)\n t = Tanh (h)\n y = " + product + second + "> (t, w, s) }";
}

TEST(Precision, AnAttributeThatAllowsCoarserWorkIsADifference) {
  const std::string plain = block_quantized("");
  for (const auto& [level, type] : {std::pair{"2", "f16"}, {"3", "bf16"}, {"4", "i8"}}) {
    const std::string coarse = block_quantized(std::string(", accuracy_level = ") + level);
    const VerifyResult result = verified_graphs(plain, coarse);
    EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("compute in " + std::string(type) + " inside"), HasSubstr("--precision")));
    EXPECT_EQ(verified_graphs(coarse, plain).outcome, Outcome::inconclusive) << "nothing shows what rounding is gone";
  }
  const std::string one = block_quantized(", accuracy_level = 4"), other = block_quantized("", ", accuracy_level = 4"),
                    both = block_quantized(", accuracy_level = 4", ", accuracy_level = 4");
  EXPECT_EQ(verified_graphs(one, both).outcome, Outcome::different);
  EXPECT_NE(verified_graphs(one, other).outcome, Outcome::same);
  VerifyOptions meant;
  meant.precision = DataType::int8;
  EXPECT_EQ(verified_graphs(plain, both, meant).outcome, Outcome::same);
}

TEST(Precision, NormalizationsThatStashCoarserNumbersAreADifference) {
  const auto normalized = [](const std::string& op, const std::string& attributes, const std::string& extra) {
    return "(float[N, 4] x) => (float[N, 4] y) <float[4] g = {1.5, 0.5, 1, 2}" + extra + "> { y = " + op + " <" + attributes + "> (x, g" +
           (extra.empty() ? "" : ", b") + ") }";
  };
  const std::string bias = ", float[4] b = {0, 1, 0, 2}";
  for (const char* const type : {"10", "16"}) {
    const std::string stash = std::string(", stash_type = ") + type;
    for (const char* const op : {"LayerNormalization", "SimplifiedLayerNormalization"}) {
      const std::string b = op == std::string("LayerNormalization") ? bias : "";
      const VerifyResult result = verified_graphs(normalized(op, "epsilon = 0.001", b), normalized(op, "epsilon = 0.001" + stash, b));
      EXPECT_EQ(result.outcome, Outcome::different) << op << summary(result);
      EXPECT_EQ(verified_graphs(normalized(op, "epsilon = 0.001, stash_type = 1", b), normalized(op, "epsilon = 0.001", b)).outcome,
                Outcome::same);
    }
  }
}

TEST(Precision, EqualLevelsOfAccuracyAreProved) {
  const std::string plain = block_quantized(""), unset = block_quantized(", accuracy_level = 0"),
                    full = block_quantized(", accuracy_level = 1"), coarse = block_quantized(", accuracy_level = 4");
  // The same with a default written out.
  const std::string again = block_quantized(", weight_prepacked = 0, accuracy_level = 4");
  for (const auto& [a, b] : {std::pair{plain, unset}, {plain, full}, {unset, full}, {full, plain}, {coarse, again}}) {
    const VerifyResult result = verified_graphs(a, b);
    EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
    EXPECT_TRUE(result.proof && result.proof->proved) << b;
  }
}

}  // namespace
}  // namespace relayout
