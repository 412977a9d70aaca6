// Tests that samples have sizes at which shapes written for one size differ, and borders at which padding counts; right pairs stay the
// same.

#include <gtest/gtest.h>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

/// A model as text: inputs, outputs, constants, and the nodes.
struct Text {
  std::string inputs, outputs, constants, nodes;
  [[nodiscard]] std::string whole() const {
    return "<ir_version: 8, opset_import: [\"\" : 17]>\ng (" + inputs + ") => (" + outputs + ")\n" +
           (constants.empty() ? "" : "<" + constants + ">\n") + "{\n" + nodes + "\n}\n";
  }
};

VerifyResult judged(const Text& a, const Text& b, VerifyOptions options = {}) {
  const Folder folder;
  options.threads = 1;
  return verify(folder.write("a.onnxtxt", a.whole()), folder.write("b.onnxtxt", b.whole()), options);
}

void expect(Outcome outcome, const Text& a, const Text& b, const VerifyOptions& options = {}) {
  const VerifyResult result = judged(a, b, options);
  EXPECT_EQ(result.outcome, outcome) << a.whole() << b.whole() << summary(result);
}

void expect_not_same(const Text& a, const Text& b) {
  const VerifyResult result = judged(a, b);
  EXPECT_NE(result.outcome, Outcome::same) << a.whole() << b.whole() << summary(result);
}

/// A Reshape to constant dims, "-1,8", of an input of these dims, "N,M"; the result's rank as dims, "R,S".
Text reshaped(const std::string& target, const std::string& dims = "N,M", const std::string& result = "R,S") {
  const auto count = static_cast<std::size_t>(std::ranges::count(target, ',')) + 1;
  return {"float[" + dims + "] x", "float[" + result + "] y", "int64[" + std::to_string(count) + "] s = {" + target + "}",
          "y = Reshape(x, s)"};
}

TEST(Sizes, ShapesWrittenForOneSizeAreDifferent) {
  expect(Outcome::different, reshaped("-1,8"), reshaped("0,-1"));
  expect(Outcome::different, reshaped("0,-1,4", "N,M", "P,Q,R"), reshaped("0,2,-1", "N,M", "P,Q,R"));
  expect(Outcome::different, reshaped("-1,8", "N,seq"), reshaped("0,-1", "N,seq"));
  expect(Outcome::different, reshaped("-1,4", "N"), reshaped("2,-1", "N"));
  expect(Outcome::different, reshaped("0,-1,6", "N,S,M", "P,Q,R"), reshaped("0,0,-1", "N,S,M", "P,Q,R"));
  expect(Outcome::different, reshaped("-1,4,2,2", "N,C,H,W", "P,Q,R,S"), reshaped("0,-1,2,2", "N,C,H,W", "P,Q,R,S"));
  expect(Outcome::different, reshaped("2,-1", "N,6"), reshaped("0,-1", "N,6"));
}

TEST(Sizes, ShapesInALoopFitToo) {
  const auto in_loop = [](const std::string& target) {
    return Text{"float[N,M] x", "float[L,R,S] y", "int64[2] s = {" + target + "}, int64 n = {2}",
                "y = Loop(n, ) <body = b (int64 i, bool c) => (bool d, float[R,S] r) { d = Identity(c)\n r = Reshape(x, s) }>"};
  };
  expect(Outcome::different, in_loop("-1,8"), in_loop("0,-1"));
  expect(Outcome::different, in_loop("2,-1"), in_loop("0,-1"));
  expect(Outcome::same, in_loop("-1,8"),
         {"float[N,M] x", "float[L,R,S] y", "int64[2] s = {-1,8}, int64 n = {2}",
          "y = Loop(n, ) <body = b (int64 i, bool c) => (bool d, float[R,S] r) { d = Identity(c)\n t = "
          "Identity(x)\n r = Reshape(t, s) }>"});
}

TEST(Sizes, BothBranchesHaveSeveralSizes) {
  const auto in_branch = [](const std::string& then, const std::string& otherwise) {
    return Text{"float[N,M] x, bool c", "float[R,S] y", "int64[2] s = {-1,8}, int64[2] t = {0,-1}, int64[1] one = {1}",
                "y = If(c) <then_branch = b () => (float[P,Q] p) { p = " + then +
                    " }, else_branch = e () => (float[U,V] q) { q = " + otherwise + " }>"};
  };
  const std::string eight = "Reshape(x, s)", rows = "Reshape(x, t)";
  expect(Outcome::different, in_branch(eight, eight), in_branch(rows, eight));
  expect(Outcome::different, in_branch(eight, eight), in_branch(eight, rows));
  expect(Outcome::different, in_branch(rows, rows), in_branch(rows, "Flatten<axis = 0>(x)"));
  expect(Outcome::same, in_branch(rows, rows), in_branch("Flatten(x)", "Identity(x)"));
}

TEST(Sizes, LimitsOfWhichOnlyTheDimsAreAskedLimitNothing) {
  const auto expanded = [](const std::string& nodes) {
    return Text{"float[N,1] x", "float[R,S] y", "int64[1] four = {4}", "n = Shape <start = 0, end = 1> (x) " + nodes};
  };
  const Text plain = expanded("s = Concat <axis = 0> (n, four) y = Expand (x, s)");
  expect(Outcome::same, plain,
         expanded("m = Max (n, four) d = Shape (m) k = Mul (n, d) s = Concat <axis = 0> (k, four) y = Expand (x, s)"));
  expect_not_same(plain, expanded("m = Min (n, four) s = Concat <axis = 0> (m, four) y = Expand (x, s)"));
}

TEST(Sizes, ShapesThatAgreeAtAllSizesAreTheSame) {
  expect(Outcome::same, reshaped("0,-1", "N,8"), reshaped("-1,8", "N,8"));
  expect(Outcome::same, reshaped("-1,8", "N,8"), reshaped("0,8", "N,8"));
  expect(Outcome::same, reshaped("0,-1,8", "N,S,8", "P,Q,R"), reshaped("0,0,8", "N,S,8", "P,Q,R"));
  expect(Outcome::same, reshaped("0,-1", "N,3,H,W"), {"float[N,3,H,W] x", "float[R,S] y", "", "y = Flatten(x)"});
  // The user states the size.
  VerifyOptions options;
  options.dims["M"] = 8;
  expect(Outcome::same, reshaped("-1,8"), reshaped("0,-1"), options);
}

TEST(Sizes, WeightsAndDeclaredSizesLeaveOneSize) {
  const auto multiplied = [](const std::string& target) {
    Text out = reshaped(target);
    std::string weights;
    for (int i = 0; i < 32; ++i) weights += (i == 0 ? "" : ",") + std::to_string((i * 7 % 5 - 2) / 3.0);
    out.constants += ", float[8,4] w = {" + weights + "}";
    out.nodes = "r = Reshape(x, s)\ny = MatMul(r, w)";
    return out;
  };
  expect(Outcome::same, multiplied("0,-1"), multiplied("0,8"));
  expect(Outcome::same, multiplied("0,-1"), multiplied("-1,8"));
}

/// Adds a vector the length of which is 8 by the contents of the input, so that no file shows which sizes it takes.
Text of_hidden_size(const std::string& target, const std::string& activation = "r2 = Identity(r)") {
  return {"float[N,seq] x", "float[R,S] y", "int64[2] s = {" + target + "}, int64[1] eight = {8}, float zero = {0}",
          "m = ReduceMax<keepdims = 0>(x)\nz = Mul(m, zero)\ni = Cast<to = 7>(z)\nn = Add(i, eight)\nv = Expand(zero, n)\nu = Add(x, v)\n" +
              ("r = Reshape(u, s)\n" + activation) + "\ny = Neg(r2)"};
}

TEST(Sizes, OneSizeOfAllSamplesLeavesDifferencesOfShapesOpen) {
  const VerifyResult result = judged(of_hidden_size("-1,8"), of_hidden_size("0,-1"));
  EXPECT_EQ(result.outcome, Outcome::inconclusive) << summary(result);
  EXPECT_NE(result.reason.find("all samples have seq = 8"), std::string::npos) << result.reason;
  // A difference that has nothing to do with sizes.
  expect(Outcome::same, of_hidden_size("-1,8", "r2 = Sigmoid(r)"),
         of_hidden_size("-1,8", "n2 = Neg(r)\ne = Exp(n2)\nb = Exp(zero)\nf = Add(b, e)\nr2 = Reciprocal(f)"));
}

TEST(Sizes, NumbersThatFollowFromSizesAreNoConstants) {
  const Text derived{"float[N,1] x", "float[R,S] y", "",
                     "sh = Shape(x)\nz = Constant<value_ints = [0]>()\nn = Gather(sh, z)\nf = Constant<value_ints = [5]>()\n"
                     "s = Concat<axis = 0>(n, f)\ny = Expand(x, s)"};
  const auto expanded = [](const std::string& target) {
    return Text{"float[N,1] x", "float[R,S] y", "int64[2] s = {" + target + "}", "y = Expand(x, s)"};
  };
  expect(Outcome::different, expanded("2,5"), derived);
  expect(Outcome::same, expanded("1,5"), derived);
  const Text mean{"float[N,M] x", "float y", "", "t = ReduceSum<keepdims = 0>(x)\nn = Size(x)\nf = Cast<to = 1>(n)\ny = Div(t, f)"};
  const Text fixed{"float[N,M] x", "float y", "float k = {10}", "t = ReduceSum<keepdims = 0>(x)\ny = Div(t, k)"};
  expect(Outcome::different, mean, fixed);
  const auto resized = [](const std::string& constant, const std::string& operands) {
    return Text{"float[1,3,H,W] x", "float[P,Q,R,S] y", constant, "y = Resize<mode = \"nearest\">(x, " + operands + ")"};
  };
  expect(Outcome::different, resized("float[4] s = {1,1,2,2}", ", s"), resized("int64[4] s = {1,3,128,192}", ", , s"));
}

/// Padding of all spatial axes by a Pad of `value`, or by the pool itself; behind these nodes, which read x and make t.
struct Padded {
  std::string spatial = "9,9", ones = "1,1", kernel = "3,3", before = "t = Identity(x)", value = "0.0", attributes = {}, pool = "MaxPool",
              after = "y = Identity(p)";
  [[nodiscard]] std::string dims() const { return std::to_string(2 * static_cast<int>(std::ranges::count(spatial, ',') + 3)); }
  [[nodiscard]] std::string result() const { return spatial == "9" ? "a,b,c" : spatial == "9,9" ? "a,b,c,d" : "a,b,c,d,e"; }
  [[nodiscard]] Text by_pad() const {
    return {"float[1,2," + spatial + "] x", "float[" + result() + "] y",
            "int64[" + dims() + "] w = {0,0," + ones + ",0,0," + ones + "}, float v = {" + value + "}",
            before + "\nq = Pad(t, w, v)\np = " + pool + "<kernel_shape = [" + kernel + "]" + attributes + ">(q)\n" + after};
  }
  [[nodiscard]] Text by_pool() const {
    return {
        "float[1,2," + spatial + "] x", "float[" + result() + "] y", "",
        before + "\np = " + pool + "<kernel_shape = [" + kernel + "], pads = [" + ones + "," + ones + "]" + attributes + ">(t)\n" + after};
  }
};

void expect_not_same(const Padded& padded) {
  expect_not_same(padded.by_pad(), padded.by_pool());
  expect_not_same(padded.by_pool(), padded.by_pad());
}

void expect_same(const Padded& padded) {
  expect(Outcome::same, padded.by_pad(), padded.by_pool());
}

TEST(Sizes, APoolsPaddingIsNotThatOfAPad) {
  expect_not_same(Padded{.ones = "2,2", .kernel = "5,5"});
  expect_not_same(Padded{.spatial = "9", .ones = "2", .kernel = "5"});
  expect_not_same(Padded{.spatial = "9,9,9", .ones = "1,1,1", .kernel = "3,3,3"});
  for (const std::string value : {"-1.0", "-5.0", "-100.0"}) expect_not_same(Padded{.ones = "2,2", .kernel = "5,5", .value = value});
  expect_not_same(Padded{.ones = "2,2", .kernel = "5,5", .attributes = ", ceil_mode = 1, strides = [2,2]"});
  expect_not_same(Padded{.ones = "2,2", .attributes = ", dilations = [2,2]"});
  // The smallest number of each window.
  expect_not_same(Padded{.ones = "2,2", .kernel = "5,5", .before = "t = Neg(x)", .after = "y = Neg(p)"});
  expect_not_same(Padded{.before = "t = Selu(x)", .after = "y = Tanh(p)"});
}

TEST(Sizes, APaddingThatNoNumberIsBelowIsTheSame) {
  for (const std::string before : {"t = Relu(x)", "t = Sigmoid(x)", "t = Exp(x)", "t = Abs(x)", "s = Relu(x)\nt = Mul(s, s)"}) {
    expect_same(Padded{.ones = "2,2", .kernel = "5,5", .before = before});
  }
  for (const std::string value : {"-inf", "-3.4028235e38"}) expect_same(Padded{.ones = "2,2", .kernel = "5,5", .value = value});
  expect_same(Padded{.pool = "LpPool"});
  expect_same(Padded{.attributes = ", count_include_pad = 1", .pool = "AveragePool"});
  expect_same(Padded{.spatial = "9", .ones = "1", .kernel = "3", .before = "t = Relu(x)"});
}

}  // namespace
}  // namespace relayout
