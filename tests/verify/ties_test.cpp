#include "verify/run/ties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "tensors.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::HasSubstr;

/// Verdicts on the only node of a graph.
class OneNode {
 public:
  OneNode(const std::string& graph, std::vector<DeciderOperand> operands)
      : model_(Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph)), operands_(std::move(operands)) {}

  [[nodiscard]] TieVerdict verdict(const Tensor& reference, const Tensor& candidate) const {
    return explain_ties(model_->graph().nodes().front(), operands_, reference, candidate);
  }

 private:
  std::unique_ptr<Model> model_;
  std::vector<DeciderOperand> operands_;
};

const char* const kArgMax = "g (float[2, 3] x) => (int64[2, 1] y) { y = ArgMax <axis = 1> (x) }";

TEST(Ties, V55TwoScoresWithinRounding) {
  const OneNode node(kArgMax, {{floats({2, 3}, {1, 3, 3.00001, 5, 4, 1}), 1e-5}});
  const TieVerdict verdict = node.verdict(integers({2, 1}, {2, 0}), integers({2, 1}, {1, 0}));
  EXPECT_TRUE(verdict.explained);
  EXPECT_EQ(verdict.ties, 1);
  EXPECT_THAT(verdict.text, HasSubstr("scores 3.00001 and 3 are"));
}

TEST(Ties, V56AClearMarginIsNoTie) {
  const OneNode node(kArgMax, {{floats({2, 3}, {1, 3, 3.00001, 5, 4, 1}), 1e-5}});
  const TieVerdict verdict = node.verdict(integers({2, 1}, {2, 0}), integers({2, 1}, {1, 1}));
  EXPECT_FALSE(verdict.explained);
  EXPECT_THAT(verdict.text, HasSubstr("scores 5 and 4"));
  EXPECT_FALSE(node.verdict(integers({2, 1}, {2, 0}), integers({2, 1}, {2, 3})).explained) << "no such index";
}

TEST(Ties, NumbersThatAreGivenDoNotTie) {
  const OneNode node(kArgMax, {{floats({2, 3}, {1, 3, 3, 5, 4, 1}), 0}});
  EXPECT_FALSE(node.verdict(integers({2, 1}, {1, 0}), integers({2, 1}, {2, 0})).explained);
}

TEST(Ties, ValuesLoweredByAShareCrossBoundariesBelow) {
  // Steps of 1/255, and 254 times the value: 0.2 → 51 and 50.8, 0.5 → 127.5 and 127, 0.79 → 201.45 and 200.66, 0.9 → 229.5 and 228.6.
  const double share = 1 - 254.0 / 255;
  const OneNode node("g (float[4] x, float s, uint8 z) => (uint8[4] y) { y = QuantizeLinear (x, s, z) }",
                     {{floats({4}, {0.2F, 0.5F, 0.79F, 0.9F}), 1e-6, share}, {floats({}, {1 / 255.0F}), 0}});
  const Tensor reference = integers({4}, {51, 128, 201, 230});
  EXPECT_TRUE(node.verdict(reference, integers({4}, {51, 127, 201, 229})).explained);
  EXPECT_FALSE(node.verdict(reference, integers({4}, {50, 127, 201, 229})).explained) << "0.2 falls by 0.2 steps, half a one is needed";
  EXPECT_FALSE(node.verdict(reference, integers({4}, {51, 127, 202, 229})).explained) << "nothing rises";
  EXPECT_FALSE(node.verdict(reference, integers({4}, {51, 127, 201, 228})).explained) << "two steps";
}

TEST(Ties, V57OrderOfTheBest) {
  const OneNode node("g (float[5] x, int64[1] k) => (float[3] v, int64[3] i) { v, i = TopK (x, k) }",
                     {{floats({5}, {1, 9, 8.00001, 8, 2}), 1e-4}, {integers({1}, {3}), 0}});
  EXPECT_TRUE(node.verdict(integers({3}, {1, 2, 3}), integers({3}, {1, 3, 2})).explained);
  EXPECT_FALSE(node.verdict(integers({3}, {1, 2, 3}), integers({3}, {2, 1, 3})).explained);
  EXPECT_FALSE(node.verdict(integers({3}, {1, 2, 3}), integers({3}, {1, 3, 3})).explained) << "one twice";
}

TEST(Ties, ComparisonsBroadcast) {
  const OneNode node("g (float[2, 2] x, float[2] t) => (bool[2, 2] y) { y = Greater (x, t) }",
                     {{floats({2, 2}, {1, 2, 3, 4.0001}), 1e-3}, {floats({2}, {1.5, 4}), 0}});
  const auto bools = [](const std::vector<int64_t>& values) { return integers({2, 2}, values, DataType::boolean); };
  EXPECT_TRUE(node.verdict(bools({0, 0, 1, 1}), bools({0, 0, 1, 0})).explained);
  EXPECT_FALSE(node.verdict(bools({0, 0, 1, 1}), bools({0, 0, 0, 1})).explained);
}

TEST(Ties, CastsTieAtWholeNumbers) {
  const OneNode node("g (float[3] x) => (int64[3] y) { y = Cast <to = 7> (x) }", {{floats({3}, {1.99999, 5.5, 7}), 1e-4}});
  EXPECT_TRUE(node.verdict(integers({3}, {1, 5, 7}), integers({3}, {2, 5, 7})).explained);
  EXPECT_FALSE(node.verdict(integers({3}, {1, 5, 7}), integers({3}, {1, 6, 7})).explained);
  EXPECT_FALSE(node.verdict(integers({3}, {1, 5, 7}), integers({3}, {3, 5, 7})).explained);
}

TEST(Ties, ACastLikeTiesAsACastDoes) {
  const OneNode node("g (float[3] x, int64 like) => (int64[3] y) { y = CastLike (x, like) }",
                     {{floats({3}, {1.99999, 5.5, 7}), 1e-4}, {integers({}, {0}), 0}});
  EXPECT_TRUE(node.verdict(integers({3}, {1, 5, 7}), integers({3}, {2, 5, 7})).explained);
  EXPECT_FALSE(node.verdict(integers({3}, {1, 5, 7}), integers({3}, {1, 6, 7})).explained);
}

TEST(Ties, V59QuantizationTiesAtHalves) {
  const OneNode node("g (float[1, 2, 2] x, float[2] s, uint8[2] z) => (uint8[1, 2, 2] y) { y = QuantizeLinear (x, s, z) }",
                     {{floats({1, 2, 2}, {0.25, 0.4, 1.5001, 1.2}), 1e-3}, {floats({2}, {0.1, 1}), 0}, {}});
  const auto bytes = [](const std::vector<int64_t>& values) { return integers({1, 2, 2}, values, DataType::uint8); };
  EXPECT_TRUE(node.verdict(bytes({2, 4, 2, 1}), bytes({3, 4, 1, 1})).explained);
  EXPECT_FALSE(node.verdict(bytes({2, 4, 2, 1}), bytes({2, 5, 2, 1})).explained);
}

TEST(Ties, BlockedQuantizationTiesAtHalvesOfTheScaleOfABlock) {
  // Row 0 has the scales 1 and 10, row 1 has 100 and 1000: 250.0001 is a tie in steps of 100, 230.5 is one in steps of 1 only.
  const auto node = [](double x) {
    return OneNode(
        "g (float[2, 4] x, float[2, 2] s, uint8[2, 2] z) => (uint8[2, 4] y) { y = QuantizeLinear <axis = 1, block_size = 2> (x, s, z) }",
        {{floats({2, 4}, {1, 2, 10, 20, x, 100, 1000, 2000}), 1e-2}, {floats({2, 2}, {1, 10, 100, 1000}), 0}, {}});
  };
  const auto bytes = [](int64_t rounded) { return integers({2, 4}, {1, 2, 1, 2, rounded, 1, 1, 2}, DataType::uint8); };
  EXPECT_TRUE(node(250.0001).verdict(bytes(3), bytes(2)).explained);
  EXPECT_FALSE(node(230.5).verdict(bytes(2), bytes(3)).explained);
}

TEST(Ties, V58OneBoxMoreAtTheThreshold) {
  // Unit squares shifted by 1/3 overlap by exactly one half.
  const auto make = [](double shift, double tolerance) {
    return OneNode(
        "g (float[1, 3, 4] b, float[1, 1, 3] s, int64 m, float t, float l) => (int64[n, 3] y) { y = NonMaxSuppression (b, s, m, t, l) }",
        {{floats({1, 3, 4}, {0, 0, 1, 1, 0, shift, 1, 1 + shift, 5, 5, 6, 6}), tolerance},
         {floats({1, 1, 3}, {0.9, 0.8, 0.7}), 1e-6},
         {integers({}, {10}), 0},
         {floats({}, {0.5}), 0},
         {floats({}, {0.1}), 0}});
  };
  const Tensor two = integers({2, 3}, {0, 0, 0, 0, 0, 2}), three = integers({3, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 2});
  EXPECT_TRUE(make(1.0 / 3, 1e-5).verdict(two, three).explained);
  EXPECT_THAT(make(1.0 / 3, 1e-5).verdict(three, two).text, HasSubstr("overlap and threshold"));
  EXPECT_FALSE(make(0.5, 1e-5).verdict(two, three).explained) << "a clear overlap";
  EXPECT_FALSE(make(1.0 / 3, 1e-5).verdict(integers({1, 3}, {0, 0, 0}), two).explained) << "a box of its own";
}

TEST(Ties, V58OrderOfKeptBoxes) {
  const OneNode node(
      "g (float[1, 2, 4] b, float[1, 1, 2] s, int64 m, float t, float l) => (int64[n, 3] y) "
      "{ y = NonMaxSuppression (b, s, m, t, l) }",
      {{floats({1, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6}), 1e-6},
       {floats({1, 1, 2}, {0.5, 0.5000001}), 1e-6},
       {integers({}, {10}), 0},
       {floats({}, {0.5}), 0},
       {floats({}, {0.1}), 0}});
  EXPECT_TRUE(node.verdict(integers({2, 3}, {0, 0, 0, 0, 0, 1}), integers({2, 3}, {0, 0, 1, 0, 0, 0})).explained);
}

TEST(Ties, DecidersAreFoundThroughNodesThatKeepTheOrder) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (int32[2] y, int64[2] z, float[2, 3] f, int32[2] like) {
      i = ArgMax <axis = 1> (x)  to = Constant <value_ints = [2]> ()  r = Reshape (i, to)  y = Cast <to = 6> (r)
      one = Constant <value_int = 1> ()  z = Add (r, one)  f = Neg (x)  like = CastLike (r, y)
    })");
  const auto& outputs = model->graph().outputs();
  ASSERT_TRUE(decider_of(*outputs[0]));
  EXPECT_EQ(decider_of(*outputs[0])->op_type(), "ArgMax");
  EXPECT_FALSE(decider_of(*outputs[1])) << "arithmetic is between";
  EXPECT_FALSE(decider_of(*outputs[2]));
  ASSERT_TRUE(decider_of(*outputs[3]));
  EXPECT_EQ(decider_of(*outputs[3])->op_type(), "ArgMax");
}

TEST(Ties, NumbersOfATopKAreNoChoiceOfIt) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8] x, int64[8] n) => (int64[3] whole, int64[3] largest, int64[3] places) {
      k = Constant <value_ints = [3]> ()  v, i = TopK (x, k)  whole = Cast <to = 7> (v)
      largest, j = TopK (n, k)  places = Identity (i)
    })");
  const auto& outputs = model->graph().outputs();
  ASSERT_TRUE(decider_of(*outputs[0]));
  EXPECT_EQ(decider_of(*outputs[0])->op_type(), "Cast") << "it rounds the numbers";
  EXPECT_FALSE(decider_of(*outputs[1])) << "the numbers themselves";
  ASSERT_TRUE(decider_of(*outputs[2]));
  EXPECT_EQ(decider_of(*outputs[2])->op_type(), "TopK");
}

/// x [N, 64] · w → index of the best class; classes 0 and 1 differ by `margin`.
test::Network best_class(double margin, bool exchanged) {
  test::Network n(11);
  n.input("x", {"N", "64"}).output("best", {"N", "1"}, onnx::TensorProto::INT64);
  n.normal("w", {64, 3}, 0.3);
  n.edit("w", [&](auto& v) {
    for (std::size_t row = 0; row < 64; ++row) {
      v[3 * row + 1] = v[3 * row] * static_cast<float>(1 + margin * std::sin(static_cast<double>(row)));
      v[3 * row + 2] *= 0.01F;
      if (exchanged) std::swap(v[3 * row], v[3 * row + 1]);
    }
  });
  n.node("MatMul", {"x", "w"}, {"s"}), n.node("ArgMax", {"s"}, {"best"}, {"axis=1"});
  return n;
}

TEST(Ties, V55AFlipOfTheBestClassAtATieIsSame) {
  const VerifyResult result = verified(best_class(1e-7, false), best_class(1e-7, true));
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.defect, "");
  int64_t ties = 0;
  for (const SampleMetrics& metrics : result.outputs.front().samples) ties += metrics.ties;
  EXPECT_GT(ties, 0);
}

TEST(Ties, V56AFlipWithAClearMarginIsDifferent) {
  const VerifyResult result = verified(best_class(1e-2, false), best_class(1e-2, true));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_THAT(result.outputs.front().reason, HasSubstr("which no tie explains: scores"));
}

}  // namespace
}  // namespace relayout
