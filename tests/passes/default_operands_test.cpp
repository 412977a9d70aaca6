#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "default-operands";

/// A GRU of two hidden numbers with a state of two sequences.
std::string gru(const std::string& state) {
  return "g (float[5,N,3] x) => (y) <float[1,6,3] w, float[1,6,2] r, int64 i1 = {1}, int64[1] o = {0}, int64[1] two = {2}, int64[1] one = "
         "{1}, float[1,1,2] z = {0, 0}, float[1,1,2] m = {0, -0.0}> { " +
         state + "y, h = GRU <hidden_size = 2> (x, w, r, , , s) }";
}

const std::string kDims = "d = Shape (x)  n = Gather (d, i1)  u = Unsqueeze (n, o)  c = Concat <axis = 0> (one, u, two)  ";

/// ONNX: an initial state that is not given is 0.
TEST(DefaultOperands, StatesOfZeros) {
  const std::string after = "g (float[5,N,3] x) => (y) <float[1,6,3] w, float[1,6,2] r> { y, h = GRU <hidden_size = 2> (x, w, r) }";
  expect_rewrite(kPass, gru(kDims + "s = ConstantOfShape (c)  "), after);
  expect_rewrite(kPass, gru(kDims + "s = Expand (z, c)  "), after);
  expect_rewrite(kPass, gru(kDims + "s0 = ConstantOfShape (c)  p = Concat <axis = 0> (s0, s0)  s = Slice (p, o, one, o)  "), after);
  expect_rewrite(
      kPass,
      gru(kDims + "s0 = ConstantOfShape (c)  p = Concat <axis = 0> (s0, s0)  q = SplitToSequence <axis = 0> (p)  s = SequenceAt (q, i1)  "),
      after);
}

TEST(DefaultOperands, StatesOfOtherNumbers) {
  for (const std::string& state :
       {kDims + "s = ConstantOfShape <value = float[1] {1.0}> (c)  ", kDims + "s = ConstantOfShape <value = float[1] {-0.0}> (c)  ",
        kDims + "s = Expand (m, c)  ", std::string("q = Exp (z)  s = Mul (q, z)  "), kDims + "q = Expand (z, c)  p, s = Dropout (q)  ",
        kDims + "q = Expand (z, c)  b = Exp (z)  s = Pad (q, c, b)  "}) {
    SCOPED_TRACE(state);
    EXPECT_TRUE(run({kPass}, gru(state)).findings.empty());
  }
}

/// Ways through 16 joins of one value four times multiply to four thousand million.
TEST(DefaultOperands, OneValueJoinedAgainAndAgain) {
  std::string state = kDims + "s0 = ConstantOfShape (c)  ";
  for (int i = 0; i < 16; ++i) {
    const std::string from = "s" + std::to_string(i);
    state += "s" + std::to_string(i + 1) + " = Concat <axis = 0> (" + from + ", " + from + ", " + from + ", " + from + ")  ";
  }
  EXPECT_TRUE(run({kPass}, gru(state + "s = Slice (s16, o, one, o)  ")).findings.empty());
}

TEST(DefaultOperands, EachStateOfAnLstm) {
  const auto result = run({kPass},
                          "g (float[5,1,3] x, float[1,1,2] h0) => (y) <float[1,8,3] w, float[1,8,2] r, float[1,1,2] z = {0, 0}> { "
                          "y, h, c = LSTM <hidden_size = 2> (x, w, r, , , h0, z) }");
  ASSERT_EQ(result.model->graph().nodes().front().inputs().size(), 6U);
  const auto cell = run({kPass},
                        "g (float[5,1,3] x, float[1,1,2] h0) => (y) <float[1,8,3] w, float[1,8,2] r, float[1,1,2] z = {0, 0}> { "
                        "y, h, c = LSTM <hidden_size = 2> (x, w, r, , , z, h0) }");
  ASSERT_EQ(cell.model->graph().nodes().front().inputs().size(), 7U);
  EXPECT_EQ(cell.model->graph().nodes().front().input(5), nullptr);
}

TEST(DefaultOperands, ACallersState) {
  EXPECT_TRUE(run({kPass},
                  "g (float[5,1,3] x, float[1,1,2] z) => (y) <float[1,6,3] w, float[1,6,2] r, float[1,1,2] z = {0, 0}> { y, h = GRU "
                  "<hidden_size = 2> (x, w, r, , , z) }")
                  .findings.empty());
}

}  // namespace
}  // namespace relayout::test
