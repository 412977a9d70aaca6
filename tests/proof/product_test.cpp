// Tests matrix products that other tools write differently, and Reshapes that are merged, moved or removed: equal ones, and lookalikes.

#include <string>
#include <vector>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

const Array kWeight = normal("w", {4, 4});
const Array kBias = normal("b", {4});

/// x [rows, 4] → y, with a square weight, so that only its elements distinguish it from its transpose.
Example matrices(const std::string& nodes, const Array& weight = kWeight, const Array& bias = kBias) {
  return Example("g (float[3,4] x) => (float[3,4] y) { " + nodes + " }").add("w", weight).add("b", bias);
}

const Example& separate() {
  static const Example kSeparate = matrices("m = MatMul (x, w) y = Add (m, b)");
  return kSeparate;
}

TEST(ProofOfProducts, GemmForMatMulAndAdd) {
  const Array turned = permuted(kWeight, {1, 0});
  for (const Example& gemm : {matrices("y = Gemm (x, w, b)"), matrices("y = Gemm <transB = 1> (x, w, b)", turned),
                              matrices("y = Gemm (x, w, b)", kWeight, Array{kBias.type, {1, 4}, kBias.values})}) {
    const ProofResult result = prove(separate(), gemm);
    EXPECT_TRUE(is_proved(result));
    EXPECT_TRUE(result.proved);
    EXPECT_EQ(result.folds, 1);
    EXPECT_TRUE(is_proved(prove(gemm, separate())));
  }
  EXPECT_TRUE(is_proved(prove(matrices("y = MatMul (x, w)"), matrices("y = Gemm (x, w)"))));
  EXPECT_TRUE(is_proved(prove(matrices("y = Gemm (x, w, b)"), matrices("y = Gemm <transB = 1> (x, w, b)", turned))));
}

TEST(ProofOfProducts, GemmOfAnotherProduct) {
  const Array turned = permuted(kWeight, {1, 0});
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm (x, w, b)", turned)).proved);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm <transB = 1> (x, w, b)")).proved);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm <alpha = 0.5> (x, w, b)")).proved);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm <beta = 0.5> (x, w, b)")).proved);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm (x, w)")).proved);
  Array wrong = kWeight;
  wrong[5] = next(wrong[5], DataType::float32);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm (x, w, b)", wrong)).proved) << "nothing is folded: not an ULP may differ";
  Array bias = kBias;
  bias[2] = rounded(bias[2] * 1.001, DataType::float32);
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm (x, w, b)", kWeight, bias)).proved);
  const Array per_row = normal("rows", {3, 4});
  EXPECT_FALSE(prove(separate(), matrices("y = Gemm (x, w, b)", kWeight, per_row)).proved);
  const auto square = [](const std::string& nodes) {
    return Example("g (float[4,4] x) => (float[4,4] y) { " + nodes + " }").add("w", kWeight).add("b", kBias);
  };
  EXPECT_FALSE(prove(square("m = MatMul (x, w) y = Add (m, b)"), square("y = Gemm <transA = 1> (x, w, b)")).proved);
  EXPECT_FALSE(prove(square("m = MatMul (w, x) y = Add (m, b)"), square("y = Gemm (x, w, b)")).proved) << "from the left";
}

/// x [2, 4, 4] → y [2, 4, 4]: equally many rows and columns, so that dims do not reveal a transposition.
Example stacks(const std::string& nodes) {
  return Example("g (float[2,4,4] x) => (float[2,4,4] y) { " + nodes + " }")
      .add("w", kWeight)
      .add("b", kBias)
      .add("flat", {8, 4})
      .add("full", {2, 4, 4})
      .add("half", Array{DataType::float32, {}, {0.5}});
}

TEST(ProofOfProducts, FlattenedForGemm) {
  const Example before = stacks("m = MatMul (x, w) y = Add (b, m)");
  EXPECT_TRUE(is_proved(prove(before, stacks("f = Reshape (x, flat) g = Gemm (f, w, b) y = Reshape (g, full)"))));
  const std::string turn = "t = Transpose <perm = [0, 2, 1]> (x) ";
  EXPECT_FALSE(prove(before, stacks(turn + "f = Reshape (t, flat) g = Gemm (f, w, b) y = Reshape (g, full)")).proved);
  EXPECT_FALSE(prove(before, stacks("f = Reshape (x, flat) g = Gemm (f, w, b) t = Reshape (g, full) "
                                    "y = Transpose <perm = [0, 2, 1]> (t)"))
                   .proved);
  EXPECT_FALSE(prove(before, stacks("f = Reshape (x, flat) g = Gemm <transB = 1> (f, w, b) y = Reshape (g, full)")).proved);
  // The Reshape upstream is in the original, and merges with the one that flattens.
  const Example deep = stacks("d = Reshape (x, full) m = MatMul (d, w) a = Add (m, b) y = Reshape (a, full)");
  EXPECT_TRUE(is_proved(prove(deep, stacks("f = Reshape (x, flat) g = Gemm (f, w, b) y = Reshape (g, full)"))));
}

/// x [N, S, 4] → y [N, S, 4], or with fewer free dims.
Example free_stacks(const std::string& dims, const std::string& nodes) {
  return Example("g (float[" + dims + "] x) => (float[" + dims + "] y) { " + nodes + " }")
      .add("w", kWeight)
      .add("b", kBias)
      .add("column", normal("column", {3, 1}))
      .add("flat", {-1, 4})
      .add("rows", {-1, 3, 4})
      .add("turned", {-1, 4, 3})
      .add("pairs", {-1, 2})
      .add("fives", {-1, 5})
      .add("two", {2, 3, 4})
      .add("own", {0, 3, 4})
      .add("four", std::vector<int64_t>{4});
}

TEST(ProofOfProducts, FlattenedForGemmOfAnyBatch) {
  const auto model = [](const std::string& nodes) { return free_stacks("N,3,4", nodes); };
  const Example before = model("m = MatMul (x, w) y = Add (m, b)");
  const std::string gemm = "f = Reshape (x, flat) g = Gemm (f, w, b) ";
  EXPECT_TRUE(is_proved(prove(before, model(gemm + "y = Reshape (g, rows)"))));
  EXPECT_TRUE(is_proved(prove(model(gemm + "y = Reshape (g, rows)"), before)));
  EXPECT_TRUE(is_proved(prove(before, model("f = Flatten <axis = 2> (x) g = Gemm (f, w, b) y = Reshape (g, rows)"))));
  EXPECT_TRUE(is_proved(prove(before, model("p = Reshape (x, pairs) f = Reshape (p, flat) g = Gemm (f, w, b) y = Reshape (g, rows)"))));
  const std::string relu = gemm + "a = Relu (g) e = Erf (a) ";
  EXPECT_TRUE(is_proved(prove(model("m = MatMul (x, w) n = Add (m, b) a = Relu (n) y = Erf (a)"), model(relu + "y = Reshape (e, rows)"))));
  const std::vector<std::string> others = {
      gemm + "y = Reshape (g, turned)",
      gemm + "y = Reshape (g, two)",
      gemm + "r = Reshape (g, rows) y = Add (r, column)",
      "f = Reshape (x, fives) p = Reshape (f, flat) g = Gemm (p, w, b) y = Reshape (g, rows)",
      "f = Reshape (x, flat) g = Gemm <transB = 1> (f, w, b) y = Reshape (g, rows)",
      "t = Transpose <perm = [1, 0, 2]> (x) f = Reshape (t, flat) g = Gemm (f, w, b) y = Reshape (g, rows)",
  };
  for (const std::string& after : others) {
    EXPECT_FALSE(prove(before, model(after)).proved) << after;
  }
}

TEST(ProofOfProducts, FlattenedForGemmOfAnyBatchAndLength) {
  const auto model = [](const std::string& nodes) { return free_stacks("N,S,4", nodes); };
  const Example before = model("m = MatMul (x, w) y = Add (m, b)");
  const std::string gemm = "f = Reshape (x, flat) g = Gemm (f, w, b) ";
  EXPECT_TRUE(is_proved(prove(before, model(gemm + "s = Shape (x) y = Reshape (g, s)"))));
  EXPECT_TRUE(is_proved(prove(before, model(gemm + "s = Shape <end = 2> (x) t = Concat <axis = 0> (s, four) y = Reshape (g, t)"))));
  EXPECT_FALSE(prove(before, model(gemm + "y = Reshape (g, rows)")).proved) << "S may be another number than 3";
  EXPECT_FALSE(prove(before, model(gemm + "n = Shape <end = 1> (x) s = Shape <start = 1, end = 2> (x) t = Concat <axis = 0> (s, n, four)"
                                          " y = Reshape (g, t)"))
                   .proved)
      << "[S, N, 4]";
}

TEST(ProofOfReshapes, AStepThatMayEnlargeIsNotFlat) {
  // [6 N, 1] + [4] has four times the elements of x, in another order than [N, 6] + [4, 1].
  const auto model = [](const std::string& nodes) {
    return Example("g (float[N,6] x) => (float[a,b] y) { " + nodes + " }").add("b", kBias).add("column", {-1, 1}).add("wide", {-1, 6});
  };
  EXPECT_FALSE(
      prove(model("f = Reshape (x, column) a = Add (f, b) y = Reshape (a, wide)"), model("f = Flatten (x) y = Reshape (f, wide)")).proved);
}

TEST(ProofOfReshapes, ElementwiseNodesMayBeFlat) {
  const std::string gelu = " d = Mul (a, half) e = Erf (d) g = Mul (a, e)";
  const Example before = stacks("m = MatMul (x, w) a = Add (m, b)" + gelu + " y = Relu (g)");
  const auto after = [&](const std::string& middle) {
    return stacks("f = Reshape (x, flat) a = Gemm (f, w, b)" + middle + " r = Reshape (g, full) y = Relu (r)");
  };
  EXPECT_TRUE(is_proved(prove(before, after(gelu))));
  EXPECT_FALSE(prove(before, after(" d = Mul (a, half) e = Erf (d) g = Mul (e, e)")).proved);
  EXPECT_FALSE(prove(before, after(" d = Mul (a, half) e = Tanh (d) g = Mul (a, e)")).proved);
  EXPECT_FALSE(prove(before, after(" d = Add (a, half) e = Erf (d) g = Mul (a, e)")).proved);
}

TEST(ProofOfReshapes, NodesAlongAnAxisMayNotBeFlat) {
  for (const std::string op : {"Softmax <axis = 1>", "CumSum", "LogSoftmax <axis = 1>"}) {
    const std::string more = op == "CumSum" ? ", one" : "";
    const auto with = [&](const std::string& nodes) { return stacks(nodes).add("one", std::vector<int64_t>{1}); };
    EXPECT_FALSE(
        prove(with("y = " + op + " (x" + more + ")"), with("f = Reshape (x, flat) s = " + op + " (f" + more + ") y = Reshape (s, full)"))
            .proved)
        << op;
  }
  // A constant per row of one tensor is not a constant per row of the other.
  const Array column = normal("column", {4, 1}), flat_column = normal("column", {8, 1});
  EXPECT_FALSE(prove(stacks("y = Add (x, c)").add("c", column),
                     stacks("f = Reshape (x, flat) s = Add (f, c) y = Reshape (s, full)").add("c", flat_column))
                   .proved);
  // Nor is a value broadcast along a different axis.
  EXPECT_FALSE(prove(stacks("m = ReduceMean <axes = [1]> (x) y = Sub (x, m)"),
                     stacks("f = Reshape (x, flat) m = ReduceMean <axes = [0]> (f) s = Sub (f, m) y = Reshape (s, full)"))
                   .proved);
}

TEST(ProofOfReshapes, EquivalentRequests) {
  const auto model = [](const std::string& nodes) {
    return Example("g (float[2,3,4] x) => (float[4,6] y) { " + nodes + " }")
        .add("a", {4, 6})
        .add("b", {-1, 6})
        .add("c", {4, -1})
        .add("d", {6, 4})
        .add("e", {3, 0, 4});
  };
  const Example one = model("y = Reshape (x, a)");
  EXPECT_TRUE(is_proved(prove(one, model("y = Reshape (x, b)"))));
  EXPECT_TRUE(is_proved(prove(model("y = Reshape (x, c)"), one)));
  EXPECT_TRUE(is_proved(prove(model("r = Reshape (x, d) y = Reshape (r, a)"), one)));
  EXPECT_TRUE(is_proved(prove(one, model("r = Flatten (x) y = Reshape (r, a)"))));
  EXPECT_FALSE(prove(one, model("t = Transpose <perm = [1, 0, 2]> (x) y = Reshape (t, a)")).proved);
  EXPECT_FALSE(prove(one, model("r = Reshape (x, d) t = Transpose (r) y = Reshape (t, a)")).proved);
  EXPECT_FALSE(prove(one, model("r = Reshape (x, d) y = Transpose (r)")).proved);
}

TEST(ProofOfReshapes, DimsThatAreNotCertainProveNothing) {
  const auto model = [](const std::string& nodes) {
    return Example("g (float[N,4] x) => (float[?,?] y) { " + nodes + " }").add("a", {-1, 2}).add("b", {8, -1});
  };
  EXPECT_FALSE(prove(model("y = Reshape (x, a)"), model("y = Reshape (x, b)")).proved);
}

TEST(ProofOfNodes, AxesAsAttributeAndAsOperand) {
  const auto model = [](const std::string& nodes, int opset) {
    return Example("g (float[1,3,4] x) => (float[?,?,?] y) { " + nodes + " }", opset)
        .add("one", std::vector<int64_t>{1})
        .add("zero", std::vector<int64_t>{0});
  };
  const Example old = model("y = ReduceMean <axes = [1]> (x)", 14);
  EXPECT_TRUE(is_proved(prove(old, model("y = ReduceMean (x, one)", 18))));
  EXPECT_TRUE(is_proved(prove(model("y = ReduceMean (x, one)", 18), old)));
  EXPECT_TRUE(is_proved(prove(model("y = ReduceMean (x)", 14), model("y = ReduceMean (x)", 18))));
  EXPECT_FALSE(prove(old, model("y = ReduceMean (x, zero)", 18)).proved);
  EXPECT_FALSE(prove(old, model("y = ReduceMean (x)", 18)).proved);
  EXPECT_FALSE(prove(model("y = ReduceMean (x)", 14), model("y = ReduceMean <noop_with_empty_axes = 1> (x)", 18)).proved);
  EXPECT_FALSE(prove(old, model("y = ReduceMean <keepdims = 0> (x, one)", 18)).proved);
  EXPECT_TRUE(is_proved(prove(model("u = Unsqueeze <axes = [0]> (x) y = Squeeze <axes = [0]> (u)", 12),
                              model("u = Unsqueeze (x, zero) y = Squeeze (u, zero)", 13))));
  EXPECT_FALSE(prove(model("y = Squeeze <axes = [0]> (x)", 12), model("y = Squeeze (x, one)", 13)).proved);
  // Tools that only raise the operator set leave attributes without meaning in the new version, and operands without meaning in the old
  // one.
  const Example left = model("y = ReduceMean <axes = [1]> (x)", 18);
  EXPECT_TRUE(names(prove(old, left), Unexplained::Kind::node_changed, "no attribute 'axes' in opset 18"));
  EXPECT_TRUE(names(prove(left, old), Unexplained::Kind::node_changed, "no attribute 'axes' in opset 18"));
  EXPECT_TRUE(names(prove(model("y = ReduceMean (x, one)", 14), model("y = ReduceMean (x, one)", 18)), Unexplained::Kind::node_changed,
                    "at most 1 input in opset 14"));
}

}  // namespace
}  // namespace relayout::test
