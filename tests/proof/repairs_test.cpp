// Tests repairs: each states what both files have, and none is told where they leave it open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> repairs(const std::string& a, const std::string& b) {
  const auto whole = [](const std::string& text) {
    return Model::from_text(
        "<ir_version: 9, opset_import: [\"\" : 17]>\nagraph (float[1,2,4,4] x, float[1,2,4,4] z) => (float[n,c,h,w] y) " + text);
  };
  std::vector<std::string> out;
  for (const Unexplained& entry : prove(*whole(a), *whole(b)).unexplained) {
    if (!entry.repair.text.empty()) out.push_back(entry.repair.text);
  }
  return out;
}

std::string conv(const std::string& weight, const std::string& attributes) {
  return "<float[2,2,1,2] w = {" + weight + "}> { c = Conv <" + attributes + "> (x, w)  y = Tanh (c) }";
}
std::string weight(const std::string& values) {
  return conv(values, "pads = [0, 0, 0, 1]");
}

TEST(RepairsTest, Attributes) {
  EXPECT_THAT(repairs(conv("1,2,3,4,5,6,7,8", "pads = [1, 1, 0, 0]"), conv("1,2,3,4,5,6,7,8", "pads = [0, 0, 1, 1]")),
              ElementsAre("pads is [0, 0, 1, 1], was [1, 1, 0, 0]"));
  EXPECT_THAT(repairs("{ y = LeakyRelu (x) }", "{ y = LeakyRelu <alpha = 0.2> (x) }"), ElementsAre("alpha is 0.2, was 0.01 (by default)"));
  EXPECT_THAT(
      repairs("{ t = Exp (x)  y = Transpose <perm = [0, 2, 1, 3]> (t) }", "{ t = Exp (x)  y = Transpose <perm = [0, 1, 3, 2]> (t) }"),
      ElementsAre("perm is [0, 1, 3, 2], was [0, 2, 1, 3]"));
}

TEST(RepairsTest, Constants) {
  const std::string was = weight("1,2,3,4,5,6,7,8");
  const auto now = [&](const std::string& values) { return repairs(was, weight(values)); };
  EXPECT_THAT(now("2,4,6,8,10,12,14,16"), ElementsAre("'w' is 2 × what it was"));
  EXPECT_THAT(now("1.05,2.1,3.15,4.2,5.25,6.3,7.35,8.4"), ElementsAre("'w' is 1.05 × what it was"));
  EXPECT_THAT(now("0,1,2,3,4,5,6,7"), ElementsAre("'w' is what it was − 1"));
  EXPECT_THAT(now("-1,-2,-3,-4,-5,-6,-7,-8"), ElementsAre("'w' is negated"));
  EXPECT_THAT(now("2,1,4,3,6,5,8,7"), ElementsAre("'w' is reversed along axis 3"));
  EXPECT_THAT(now("1,2,5,6,3,4,7,8"), ElementsAre("'w' is transposed by [1, 0, 2, 3]"));
  EXPECT_THAT(now("1,2,3,4,5,6,7,9"), ElementsAre("'w' has 9 at [1, 1, 0, 1], was 8"));
  EXPECT_THAT(now("0,0,0,0,0,0,0,0"), ElementsAre("'w' is all zeros"));
  EXPECT_THAT(now("1,2,3,4,0,0,0,0"), ElementsAre("'w' has 0 at [1, 0, 0, 0], was 5; 0 at [1, 0, 0, 1], was 6; 0 at [1, 1, 0, 0], was 7; "
                                                  "0 at [1, 1, 0, 1], was 8"));
  EXPECT_THAT(now("3,1,4,1,5,9,2,6"), IsEmpty());
  EXPECT_THAT(repairs(weight("1.001,2.003,3.002,4.001,5.007,6.002,7.008,8.001"), weight("1,2,3,4,5,6,7,8")),
              Contains("'w' is rounded to bf16"));
}

TEST(RepairsTest, ConstantsOfOtherDims) {
  const auto scaled = [](const std::string& scale) { return "<float" + scale + "> { a = Exp (x)  y = LayerNormalization (a, s)  }"; };
  EXPECT_THAT(repairs(scaled("[4] s = {1,2,3,4}"), scaled("[1,4] s = {1,2,3,5}")), ElementsAre("'s' is [1, 2, 3, 5], was [1, 2, 3, 4]"));
  EXPECT_THAT(repairs(scaled("[4] s = {1,2,3,4}"), scaled("[1,4] s = {1,2,3,4}")), IsEmpty());
}

TEST(RepairsTest, ConstantsThatAreExchanged) {
  const auto affine = [](const std::string& s, const std::string& t) {
    return "<float[2,1,1] s = {" + s + "}, float[2,1,1] t = {" + t + "}> { a = Mul (x, s)  b = Exp (a)  c = Mul (b, t)  y = Exp (c) }";
  };
  EXPECT_THAT(repairs(affine("1,2", "3,5"), affine("3,5", "1,2")), Contains("the values of 's' and 't' are exchanged"));
  EXPECT_THAT(repairs(affine("1,2", "3,5"), affine("3,5", "3,5")), ElementsAre("'s' is [3, 5], was [1, 2]"));
}

TEST(RepairsTest, Operands) {
  EXPECT_THAT(repairs("{ a = Exp (x)  b = Neg (z)  y = Sub (a, b) }", "{ a = Exp (x)  b = Neg (z)  y = Sub (b, a) }"),
              ElementsAre("inputs 0 (A) and 1 (B) are exchanged"));
  EXPECT_THAT(
      repairs("{ a = Exp (x)  b = Neg (z)  c = Abs (a)  y = Sub (a, b) }", "{ a = Exp (x)  b = Neg (z)  c = Abs (a)  y = Sub (c, b) }"),
      ElementsAre("input 0 (A) is 'c', was 'a'"));
  EXPECT_THAT(repairs("{ a = Exp (x)  y = Elu (a) }", "{ a = Exp (x)  y = Celu (a) }"), ElementsAre("operator is Celu, was Elu"));
  const std::string norm = "<float[2] s = {1,2}, float[2] t = {3,4}, float[2] m = {5,6}, float[2] v = {7,8}> { a = Exp (x)  y = ";
  EXPECT_THAT(repairs(norm + "BatchNormalization (a, s, t, m, v) }", norm + "BatchNormalization (a, t, s, m, v) }"),
              ElementsAre(StartsWith("inputs 1 (scale) and 2 (B) are exchanged")));
}

TEST(RepairsTest, NodesThatMayHaveChangedPlacesAreLeftOpen) {
  const std::string head = "{ a = Exp (x)  b = Neg (z)  c = Cast <to = 10> (a)  d = Cast <to = 10> (b)  e = Concat <axis = 1> ";
  const std::string tail = "  y = Cast <to = 1> (e) }";
  EXPECT_THAT(repairs(head + "(c, d)" + tail, head + "(d, c)" + tail), IsEmpty());
}

}  // namespace
}  // namespace relayout::test
