#include <gmock/gmock.h>

#include <set>

#include "relayout/graph.h"
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

/// x in dims that are its own, counted through nodes that keep them.
std::string own(const std::string& nodes, const std::string& operands = "float[N,M,12] x", const std::string& rest = "") {
  return "g (" + operands + ") => (y) <int64[1] o = {0}, int64[1] e = {1}, int64[1] f = {2}, int64[1] six = {6}, int64[1] free = {-1}, " +
         "float[12,5] W, float[5] B> { " + nodes + " y = Neg (z)" + rest + " }";
}

const std::string kDims = "d = Shape (x) n = Gather <axis = 0> (d, o) m = Gather <axis = 0> (d, e) ";

TEST(ReshapeRequests, OwnDimsBesideOneThatIsFound) {
  const auto after = [](const std::string& request, const std::string& nodes) {
    return "g (float[N,M,12] x) => (y) <int64[4] r = {" + request + "}, float[12,5] W, float[5] B> { " + nodes + " y = Neg (z) }";
  };
  expect_rewrite(kPass, own(kDims + "r = Concat <axis = 0> (n, m, free, six) z = Reshape (x, r)"),
                 after("0, 0, -1, 6", "z = Reshape (x, r)"));
  expect_rewrite(kPass, own("d = Shape (x) n = Slice (d, o, f) r = Concat <axis = 0> (n, free, six) z = Reshape <allowzero = 1> (x, r)"),
                 after("0, 0, -1, 6", "z = Reshape <allowzero = 0> (x, r)"));
  expect_rewrite(kPass,
                 own(kDims + "v = MatMul (x, W) w = Add (B, v) s = Softmax (w) r = Concat <axis = 0> (n, m, free, e) z = Reshape (s, r)"),
                 after("0, 0, -1, 1", "v = MatMul (x, W) w = Add (B, v) s = Softmax (w) z = Reshape (s, r)"));
  expect_rewrite(kPass, own(kDims + "t = Transpose <perm = [1,0,2]> (x) r = Concat <axis = 0> (m, n, free, six) z = Reshape (t, r)"),
                 after("0, 0, -1, 6", "t = Transpose <perm = [1,0,2]> (x) z = Reshape (t, r)"));
}

TEST(ReshapeRequests, AllReadersOfARequest) {
  const std::string two =
      kDims + "r = Concat <axis = 0> (n, m, free, six) u = Reshape (x, r) a = Abs (x) v = Reshape (a, r) z = Add (u, v)";
  const auto result = expect_rewrite(
      kPass, own(two),
      "g (float[N,M,12] x) => (y) <int64[4] r = {0, 0, -1, 6}, float[12,5] W, float[5] B> { u = Reshape (x, r) a = Abs (x) v = Reshape (a, "
      "r) z = Add (u, v) y = Neg (z) }");
  std::set<const Value*> requests;
  for (const Node& node : result.model->graph().nodes()) {
    if (node.is("Reshape")) requests.insert(node.input(1));
  }
  EXPECT_EQ(requests.size(), 1);
}

TEST(ReshapeRequests, DimsOfOtherPlacesStay) {
  const auto count = [](const std::string& nodes, const std::string& operands = "float[N,M,12] x", const std::string& rest = "") {
    return run({kPass}, own(nodes, operands, rest)).count("Concat");
  };
  EXPECT_EQ(count(kDims + "r = Concat <axis = 0> (m, n, free, six) z = Reshape (x, r)"), 1) << "exchanged";
  EXPECT_EQ(count(kDims + "t = Transpose <perm = [1,0,2]> (x) r = Concat <axis = 0> (n, m, free, six) z = Reshape (t, r)"), 1);
  EXPECT_EQ(count(kDims + "v = Add (x, w) r = Concat <axis = 0> (n, m, free, six) z = Reshape (v, r)", "float[N,M,12] x, float[K,1,1] w"),
            1)
      << "N may be 1, and K larger";
  EXPECT_EQ(count(kDims + "v = Add (x, w) r = Concat <axis = 0> (n, m, free, six) z = Reshape (v, r)", "float[N,M,12] x, float[12] w"), 0);
  EXPECT_EQ(count(kDims + "p = Slice (x, o, e, e) r = Concat <axis = 0> (n, m, free, six) z = Reshape (p, r)"), 1) << "a part along axis 1";
  EXPECT_EQ(count(kDims + "p = Slice (x, o, e, f) r = Concat <axis = 0> (n, m, free) z = Reshape (p, r)"), 0) << "a part along axis 2";
  EXPECT_EQ(count(kDims + "p = Concat <axis = 0> (x, x) r = Concat <axis = 0> (n, m, free, six) z = Reshape (p, r)"), 2);
  EXPECT_EQ(count(kDims + "r = Concat <axis = 0> (n, m, free, six) z = Reshape (x, r)", "float[N,M,12] x", " k = Abs (r)"), 1);
}

TEST(ReshapeRequests, StepsOfARecurrentOperator) {
  const std::string head =
      "g (float[T,N,4] x) => (y) <float[1,9,4] W, float[1,9,3] R, int64[1] o = {0}, int64[1] e = {1}, int64[1] f = {2}, int64[1] h = {3}, "
      "int64[1] i = {4}> { g = GRU <hidden_size = 3> (x, W, R)  t = Transpose <perm = [0,2,1,3]> (g)  ";
  expect_rewrite(
      kPass,
      head +
          "d = Shape (t)  a = Slice (d, o, e)  b = Slice (d, e, f)  c = Slice (d, f, h)  l = Slice (d, h, i)  m = Mul (c, l)  "
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
