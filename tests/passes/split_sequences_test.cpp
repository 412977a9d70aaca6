#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "split-sequences";

const std::string kConstants = " <int64 k = {3}, int64[2] l = {2, 4}, int64 zero = {0}, int64 last = {-1}, int64[1] one = {1}> ";
const std::string kHead = "g (float[N,6] x) => (y)" + kConstants;

int64_t count(const std::string& body) {
  return run({kPass}, kHead + "{ " + body + " }").count("Split");
}

TEST(SplitSequences, PartsOfOneLength) {
  const std::string body = "{ s = SplitToSequence <axis = 1> (x, k)  a = SequenceAt (s, zero)  b = SequenceAt (s, last)  y = Sub (a, b) }";
  expect_rewrite(kPass, kHead + body, "g (float[N,6] x) => (y) { a, b = Split <axis = 1> (x)  y = Sub (a, b) }");
  // From opset 18 on, a Split is told how many results it has.
  const std::string opset18 = R"(<ir_version: 8, opset_import: ["" : 18]>)";
  expect_rewrite(kPass, TextModel(kHead + body, opset18),
                 TextModel("g (float[N,6] x) => (y) { a, b = Split <axis = 1, num_outputs = 2> (x)  y = Sub (a, b) }", opset18));
}

TEST(SplitSequences, PartsOfOtherLengths) {
  expect_rewrite(
      kPass,
      kHead +
          "{ s = SplitToSequence <axis = -1> (x, l)  a = SequenceAt (s, zero)  b = SequenceAt (s, last)  y = Concat <axis = 1> (b, a) }",
      "g (float[N,6] x) => (y) <int64[2] l = {2, 4}> { a, b = Split <axis = -1> (x, l)  y = Concat <axis = 1> (b, a) }");
}

TEST(SplitSequences, PartsThatNothingReads) {
  EXPECT_EQ(count("s = SplitToSequence <axis = 1> (x, k)  y = SequenceAt (s, zero)"), 1);
  EXPECT_EQ(count("s = SplitToSequence <axis = 1> (x)  y = SequenceAt (s, zero)"), 0) << "six names for one node";
}

TEST(SplitSequences, SequencesThatStay) {
  EXPECT_EQ(count("s = SplitToSequence <axis = 0> (x, k)  a = SequenceAt (s, zero)  b = SequenceAt (s, last)  y = Sub (a, b)"), 0);
  EXPECT_EQ(
      count(
          "s = SplitToSequence <axis = 1> (x, k)  a = SequenceAt (s, zero)  n = SequenceLength (s)  m = Cast <to = 1> (n)  y = Mul (a, m)"),
      0);
  EXPECT_EQ(count("s = SplitToSequence <axis = 1, keepdims = 0> (x)  a = SequenceAt (s, zero)  b = SequenceAt (s, last)  y = Sub (a, b)"),
            0);
  EXPECT_EQ(count("n = SplitToSequence <axis = 1> (x, k)  a = SequenceAt (n, zero)  b = SequenceAt (n, zero)  y = Sub (a, b)"), 0);
  EXPECT_EQ(
      run({kPass}, "g (float[N,6] x, int64 i) => (y)" + kConstants + "{ s = SplitToSequence <axis = 1> (x, k)  y = SequenceAt (s, i) }")
          .count("Split"),
      0);
}

}  // namespace
}  // namespace relayout::test
