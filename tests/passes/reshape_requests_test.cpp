#include <gmock/gmock.h>

#include "relayout/model.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

const std::string kPass = "reshape-requests";

/// x in other dims: n is the first dim of z.
std::string reshaped(const std::string& request, const std::string& rest = "",
                     const std::string& operands = "float[K,12] x, float[N,3] z") {
  return "g (" + operands +
         ") => (y) <int64[1] o = {0}, int64[1] e = {1}, int64[1] f = {4}, int64[1] six = {6}, int64[1] free = {-1}> { d = Shape (z)  n = "
         "Slice (d, o, e)  m "
         "= Slice (d, e, f)  r = Concat <axis = 0> (" +
         request + ")  y = Reshape (x, r)" + rest + " }";
}

TEST(ReshapeRequests, OneDimThatIsComputed) {
  expect_rewrite(kPass,
                 "g (float[N,12] x) => (y) <int64[1] o = {0}, int64[1] e = {1}, int64[1] six = {6}, int64[1] two = {2}> { d = Shape (x)  n "
                 "= Slice (d, o, e)  r = "
                 "Concat <axis = 0> (n, six, two)  y = Reshape (x, r) }",
                 "g (float[N,12] x) => (y) <int64[3] r = {-1, 6, 2}> { y = Reshape (x, r) }");
}

TEST(ReshapeRequests, StepsOfARecurrentOperator) {
  const std::string head =
      "g (float[T,N,4] x) => (y) <float[1,9,4] W, float[1,9,3] R, int64[1] o = {0}, int64[1] e = {1}, int64[1] f = {2}, int64[1] h = {3}, "
      "int64[1] i = {4}> { g = GRU <hidden_size = 3> (x, W, R)  t = Transpose <perm = [0,2,1,3]> (g)  ";
  expect_rewrite(kPass,
                 head + "d = Shape (t)  a = Slice (d, o, e)  b = Slice (d, e, f)  c = Slice (d, f, h)  l = Slice (d, h, i)  m = Mul (c, l)  "
                        "r = Concat <axis = 0> (a, b, m)  y = Reshape (t, r) }",
                 "g (float[T,N,4] x) => (y) <float[1,9,4] W, float[1,9,3] R, int64[3] r = {0, 0, 3}> { g = GRU <hidden_size = 3> (x, W, R)  t "
                 "= Transpose <perm = [0,2,1,3]> (g)  y = Reshape (t, r) }");
}

TEST(ReshapeRequests, RequestsThatStay) {
  const auto count = [](const std::string& text) { return run({kPass}, text).count("Concat"); };
  EXPECT_EQ(count(reshaped("n, six")), 0);
  EXPECT_EQ(count(reshaped("n, m, six", "", "float[K,12] x, float[N,M] z")), 1) << "two dims";
  EXPECT_EQ(count(reshaped("n, free")), 1) << "one that is found already";
  EXPECT_EQ(count(reshaped("n, o, six")), 1) << "one of x, which may be 0";
  EXPECT_EQ(count(reshaped("n, six", "  t = Abs (r)")), 1) << "another reader";
}

}  // namespace
}  // namespace relayout::test
