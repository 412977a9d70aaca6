// Tests samples of very different scale, and samples over which a model amplifies rounding: each is judged by its own range and floor, and
// an ill-conditioned one does not acquit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "relayout/verify.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::fold_batch_norm;
using test::Network;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A classifier of few classes that cubes its features: images of 0 … 255 come out 1e7 times as large as those of N(0, 1).
Network steep(int classes) {
  Network n(3);
  n.input("x", {"N", "3", "12", "12"}).output("y", {"N", std::to_string(classes)});
  n.convolution("c1", "x", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 8);
  n.floats("three", {}, {3}).node("Pow", {"n1.y", "three"}, {"p"});
  n.convolution("c2", "p", "c2.y", {8, 8, 3, 3}, {}).node("GlobalAveragePool", {"c2.y"}, {"g"});
  n.node("Flatten", {"g"}, {"flat"});
  n.normal("fc.w", {classes, 8}, 0.4).normal("fc.b", {classes}, 0.1);
  n.node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"}, {"transB=1"});
  return n;
}

/// Rounding becomes chaos where the values are large: sin(2^20 · x) of everything above 8.
Network chaotic_when_large() {
  Network n(5);
  n.input("x", {"N", "3", "16", "16"}).output("y", {"N", "10"});
  n.convolution("c", "x", "c.y", {4, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n", "c.y", "n.y", 4);
  n.floats("far", {}, {8}).node("Sub", {"n.y", "far"}, {"above"}), n.node("Relu", {"above"}, {"large"});
  n.floats("many", {}, {1048576.5F}).node("Mul", {"large", "many"}, {"phase"}), n.node("Sin", {"phase"}, {"chaos"});
  n.node("Add", {"n.y", "chaos"}, {"sum"}), n.node("GlobalAveragePool", {"sum"}, {"g"}), n.node("Flatten", {"g"}, {"flat"});
  n.normal("fc.w", {10, 4}, 0.4).normal("fc.b", {10}, 0.1).node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"}, {"transB=1"});
  return n;
}

TEST(Conditioning, V79AnErrorShowsInEverySampleWhateverTheScaleOfTheOthers) {
  for (const int classes : {1, 2, 10, 40}) {
    Network a = steep(classes), right = a;
    fold_batch_norm(right, "n1.y");
    const VerifyResult good = verified(a, right);
    EXPECT_EQ(good.outcome, Outcome::same) << summary(good);
    Network wrong = right;
    wrong.edit("fc.w", [](auto& v) {
      for (std::size_t i = 0; i < (v.size() + 2) / 3; ++i) v[i] *= 1.01F;
    });
    const VerifyResult bad = verified(a, wrong);
    EXPECT_EQ(bad.outcome, Outcome::different) << summary(bad);
    ASSERT_FALSE(bad.layers.empty());
    EXPECT_EQ(bad.layers.front().tensor, "y");
    for (const SampleMetrics& metrics : bad.outputs[0].samples) EXPECT_EQ(metrics.outcome, Outcome::different) << metrics.sample;
  }
}

TEST(Conditioning, V79IllConditionedSamplesAreNamedAndReplaced) {
  const Network a = chaotic_when_large();
  Network b = a;
  b.edit("fc.b", [](auto& v) { v[3] += 1e-7F; });  // an unproved change
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  const auto& samples = result.outputs[0].samples;
  EXPECT_TRUE(std::ranges::any_of(samples, &SampleMetrics::ill_conditioned));
  EXPECT_GE(std::ranges::count(samples, false, &SampleMetrics::ill_conditioned), 2);
  EXPECT_GT(samples.size(), 2U);
  EXPECT_GT(result.inputs.back().deviation, 0);
  EXPECT_LT(result.outputs[0].floor, 1e-3);  // the figures shown are those of conclusive samples
}

TEST(Conditioning, NodesVouchForOneNumberNextToInfinity) {
  // A mask of zeros and minus infinity distinguishes its two numbers, as one of zeros and ones does.
  const auto masked = [](bool by_sign) {
    Network n(5);
    n.input("x", {"N", "64"}).output("y", {"N", "40"});
    n.floats("zero", {}, {0}).floats("many", {}, {4194304.5F}).normal("w1", {64, 64}, 1).normal("w2", {64, 40}, 1);
    if (by_sign) {
      n.node("Sign", {"x"}, {"sign"}), n.node("Relu", {"sign"}, {"one"});
    } else {
      n.node("Greater", {"x", "zero"}, {"is"}), n.node("Cast", {"is"}, {"bit"}, {"to=1"});
    }
    n.node("Log", {by_sign ? "one" : "bit"}, {"mask"}), n.node("Exp", {"mask"}, {"kept"});
    n.node("MatMul", {"x", "w1"}, {"h"}), n.node("Mul", {"h", "many"}, {"phase"}), n.node("Sin", {"phase"}, {"chaos"});
    n.node("Mul", {"chaos", "kept"}, {"c"}), n.node("MatMul", {"c", "w2"}, {"y"});
    return n;
  };
  const VerifyResult result = verified(masked(false), masked(true));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("every sample is ill-conditioned")));
}

TEST(Conditioning, AModelWithoutWellConditionedSamplesIsJudgedByItsNodes) {
  Network a(5);
  a.input("x", {"N", "64"}).output("y", {"N", "40"});
  a.normal("w1", {64, 64}, 1).node("MatMul", {"x", "w1"}, {"h"});
  a.floats("many", {}, {4194304.5F}).node("Mul", {"h", "many"}, {"phase"}), a.node("Sin", {"phase"}, {"chaos"});
  a.normal("w2", {64, 40}, 1).node("MatMul", {"chaos", "w2"}, {"y"});
  Network b = a;
  b.edit("w2", [](auto& v) { v[7] = std::nextafter(v[7], 2.0F); });
  const VerifyResult same = verified(a, b);
  EXPECT_EQ(same.outcome, Outcome::same) << summary(same);
  EXPECT_THAT(same.remarks, Contains(HasSubstr("every sample is ill-conditioned")));
  Network wrong = a;
  wrong.edit("w1", [](auto& v) { v[7] *= 1.001F; });
  const VerifyResult different = verified(a, wrong);
  EXPECT_EQ(different.outcome, Outcome::different) << summary(different);
  // The outputs alone are inconclusive.
  VerifyOptions outputs;
  outputs.outputs_only = true;
  EXPECT_EQ(verified(a, b, outputs).outcome, Outcome::inconclusive);
}

TEST(Conditioning, V80AHeadThatStartsAtZeroIsTheSameWhereTheFilesProveIt) {
  Network a = steep(10);
  a.edit("fc.w", [](auto& v) { std::ranges::fill(v, 0.0F); });
  a.edit("fc.b", [](auto& v) { std::ranges::fill(v, 0.0F); });
  Network b = a;
  fold_batch_norm(b, "n1.y");
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(exit_code(result, false), 0) << summary(result);
  ASSERT_TRUE(result.proof);
  EXPECT_TRUE(result.proof->proved);
}

TEST(Conditioning, V94AHeadThatStartsAtZeroIsTheSameWhereItsNodesAre) {
  Network a(3);
  a.input("x", {"N", "16"}).output("y", {"N", "40"});
  a.normal("w1", {16, 32}, 0.3).node("MatMul", {"x", "w1"}, {"h"}), a.node("HardSwish", {"h"}, {"s"});
  a.floats("head", {32, 40}, std::vector<float>(1280, 0)).node("MatMul", {"s", "head"}, {"y"});
  // Written with Clip, which the proof does not recognize as a HardSwish.
  const auto written_out = [&](float alpha, const std::string& name) {
    Network b = a;
    b.remove_node("s");
    b.floats("alpha", {}, {alpha}).floats("beta", {}, {0.5F}).floats("least", {}, {0}).floats("most", {}, {1});
    b.node("Mul", {"h", "alpha"}, {"scaled"}), b.node("Add", {"scaled", "beta"}, {"shifted"});
    b.node("Clip", {"shifted", "least", "most"}, {"gate"}), b.node("Mul", {"h", "gate"}, {name});
    b.replace_uses("s", name);
    b.sort();
    return b;
  };
  const VerifyResult same = verified(a, written_out(0.16666667F, "s"));
  EXPECT_EQ(exit_code(same, false), 0) << summary(same);
  EXPECT_THAT(same.remarks, Contains(HasSubstr("'y' shows nothing")));
  const VerifyResult wrong = verified(a, written_out(0.2F, "s"));
  EXPECT_EQ(wrong.outcome, Outcome::different) << summary(wrong);
  // Only zeros can be compared if the activation's result has a different name in b.
  EXPECT_NE(verified(a, written_out(0.2F, "another")).outcome, Outcome::same);
}

TEST(Conditioning, V94OtherDimsInsideAreTheSameWhereTheirReadersAre) {
  const auto make = [](const std::vector<int64_t>& inner, float slope) {
    Network n(3);
    n.input("x", {"N", "16"}).output("y", {"N", "40"});
    n.normal("w1", {16, 32}, 0.3).node("MatMul", {"x", "w1"}, {"h"});
    n.integers("inner", {3}, inner).node("Reshape", {"h", "inner"}, {"r"});
    n.floats("slope", {}, {slope}).node("Mul", {"r", "slope"}, {"scaled"}), n.node("Tanh", {"scaled"}, {"t"});
    n.integers("outer", {2}, {-1, 32}).node("Reshape", {"t", "outer"}, {"back"});
    n.floats("head", {32, 40}, std::vector<float>(1280, 0)).node("MatMul", {"back", "head"}, {"y"});
    return n;
  };
  const VerifyResult same = verified(make({-1, 4, 8}, 0.7F), make({-1, 8, 4}, 0.7F));
  EXPECT_EQ(exit_code(same, false), 0) << summary(same);
  EXPECT_EQ(verified(make({-1, 4, 8}, 0.7F), make({-1, 8, 4}, 0.701F)).outcome, Outcome::different);
}

TEST(Conditioning, V24OneWeightOfAWideLayerIsJudgedAtItsNode) {
  Network a(1);
  a.input("x", {"N", "512"}).output("y", {"N", "64"});
  a.normal("w1", {512, 512}, 0.05).node("MatMul", {"x", "w1"}, {"h"}), a.node("Tanh", {"h"}, {"t"});
  a.normal("w2", {512, 64}, 0.05).node("MatMul", {"t", "w2"}, {"y"});
  Network b = a;
  b.edit("w1", [](auto& v) { v[777] = v[777] * 1.001F + 1e-4F; });
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  ASSERT_FALSE(result.layers.empty());
  EXPECT_EQ(result.layers.front().tensor, "h");
}

/// Scores of boxes upstream of a TopK: sums of 10^4 that saturate at 6, so that many scores are equal up to rounding.
Network saturated_detector() {
  Network n(7);
  n.input("x", {"1", "3", "12", "12"}).output("best", {"1", "20"}).output("boxes", {"1", "20"});
  n.convolution("c1", "x", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 8);
  n.floats("zero", {}, {0}).floats("six", {}, {6}).node("Clip", {"n1.y", "zero", "six"}, {"r1"});
  n.convolution("c2", "r1", "c2.y", {1, 8, 1, 1}, {}).node("Sigmoid", {"c2.y"}, {"s"});
  n.integers("row", {2}, {1, -1}).node("Reshape", {"s", "row"}, {"scores"}), n.integers("k", {1}, {20});
  n.node("TopK", {"scores", "k"}, {"best", "places"}, {"axis=1"});
  n.normal("all", {1, 144}).node("GatherElements", {"all", "places"}, {"boxes"}, {"axis=1"});
  return n;
}

TEST(Conditioning, V81BoxesThatTieAreNoDefectAndNoDifference) {
  Network a = saturated_detector(), b = a;
  fold_batch_norm(b, "n1.y");
  for (const int samples : {1, 8}) {
    VerifyOptions options;
    options.samples = samples;
    const VerifyResult result = verified(a, b, options);
    EXPECT_EQ(exit_code(result, false), 0) << summary(result);
  }
}

}  // namespace
}  // namespace relayout
