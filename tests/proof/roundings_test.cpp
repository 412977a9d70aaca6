// Tests files whose values a QuantizeLinear and a DequantizeLinear round: each rounding is reported once, and other faults stay visible.

#include <gmock/gmock.h>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using ::testing::ElementsAre;

/// x [2, 4]; scales s and t, zero points 0 and 128.
Example net(const std::string& nodes) {
  return Example("g (float[2,4] x) => (float[2,4] y) <float s = {0.1}, float t = {0.2}, uint8 zero = {0}, uint8 middle = {128}> { " +
                 nodes + " }");
}

/// The unexplained entry, as the node's result and the text after its label.
std::vector<std::string> texts(const Example& before, const Example& after) {
  std::vector<std::string> out;
  for (const Unexplained& entry : prove(before, after).unexplained) out.push_back(entry.name + entry.text.substr(entry.text.find(')') + 1));
  return out;
}

TEST(ProofOfRoundings, EachIsReportedOnce) {
  const Example before = net("a = Sigmoid (x) b = Erf (a) y = Mul (a, b)");
  EXPECT_THAT(texts(before, net("q = QuantizeLinear (x, s, middle) d = DequantizeLinear (q, s, middle) a = Sigmoid (d) "
                                "r = QuantizeLinear (a, t, zero) e = DequantizeLinear (r, t, zero) b = Erf (e) y = Mul (e, b)")),
              ElementsAre("q rounds a value that was not rounded", "r rounds a value that was not rounded"));
  // Rounded for one reader only.
  EXPECT_THAT(
      texts(before, net("a = Sigmoid (x) r = QuantizeLinear (a, t, zero) e = DequantizeLinear (r, t, zero) b = Erf (e) y = Mul (a, b)")),
      ElementsAre("r rounds a value that was not rounded"));
}

TEST(ProofOfRoundings, AMissingFunctionIsReported) {
  const Example before = net("a = Sigmoid (x) y = Mul (x, a)");
  const std::string rounded = "q = QuantizeLinear (x, s, middle) d = DequantizeLinear (q, s, middle) ";
  EXPECT_THAT(
      texts(before, net(rounded + "r = QuantizeLinear (d, t, zero) e = DequantizeLinear (r, t, zero) y = Mul (d, e)")),
      ElementsAre("q rounds a value that was not rounded", "a is gone; no fold explains it", "r rounds a value that was not rounded"));
}

TEST(ProofOfRoundings, AMissingNodeBetweenTwoRoundingsIsReported) {
  const std::string first = "q = QuantizeLinear (x, s, middle) d = DequantizeLinear (q, s, middle) a = Add (d, x) ";
  const std::string last = " e = DequantizeLinear (r, t, middle) y = Erf (e)";
  EXPECT_THAT(
      texts(
          net(first + "p = QuantizeLinear (a, t, zero) c = DequantizeLinear (p, t, zero) b = Add (c, x) r = QuantizeLinear (b, t, middle)" +
              last),
          net(first + "p = QuantizeLinear (a, t, zero) c = DequantizeLinear (p, t, zero) r = QuantizeLinear (c, t, middle)" + last)),
      ElementsAre("b is gone; no fold explains it"));
}

TEST(ProofOfRoundings, IntegersAreDequantizedByTheNumbersThatQuantizedThem) {
  const Example before = net("a = Sigmoid (x) y = Erf (a)");
  const auto after = [](const std::string& scale, const std::string& zero) {
    return net("a = Sigmoid (x) q = QuantizeLinear (a, t, zero) d = DequantizeLinear (q, " + scale + ", " + zero + ") y = Erf (d)");
  };
  const std::string other = "d dequantizes by other numbers than output 'q' (QuantizeLinear) quantizes by";
  EXPECT_THAT(texts(before, after("t", "zero")), ElementsAre("q rounds a value that was not rounded"));
  EXPECT_THAT(texts(before, after("s", "zero")), ElementsAre("q rounds a value that was not rounded", other));
  EXPECT_THAT(texts(before, after("t", "middle")), ElementsAre("q rounds a value that was not rounded", other));
}

TEST(ProofOfRoundings, ARangeFromZeroIsARelu) {
  const Example before = net("a = Sigmoid (x) b = Relu (a) y = Erf (b)");
  const auto after = [](const std::string& zero) {
    return net("a = Sigmoid (x) q = QuantizeLinear (a, t, " + zero + ") d = DequantizeLinear (q, t, " + zero + ") y = Erf (d)");
  };
  EXPECT_THAT(texts(before, after("zero")), ElementsAre("q rounds a value that was not rounded"));
  EXPECT_THAT(texts(before, after("middle")), ElementsAre("b is gone; no fold explains it", "q rounds a value that was not rounded"));
}

}  // namespace
}  // namespace relayout::test
