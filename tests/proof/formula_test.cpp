// Tests operators and their expansions into nodes: equal formulas, and near misses by a number, an axis, an operand or a reader.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

Array number(double value) {
  return {DataType::float32, {}, {rounded(value, DataType::float32)}};
}

/// x [2, 3, 4], r [2, 3, 4] → y of the same dims, with the numbers in the definitions of operators.
Example written(const std::string& nodes) {
  return Example("g (float[2,3,4] x, float[2,3,4] r) => (float[2,3,4] y) { " + nodes + " }")
      .add("scale", normal("scale", {4}))
      .add("bias", normal("bias", {4}))
      .add("shift", normal("shift", {4}))
      .add("half", number(0.5))
      .add("one", number(1))
      .add("two", number(2))
      .add("three", number(3))
      .add("root2", number(1.4142135623730951))
      .add("root2pi", number(0.7978845608028654))
      .add("cubic", number(0.044715))
      .add("epsilon", number(1e-5))
      .add("alpha", number(1.702));
}

/// The same model with one number moved by a thousandth.
Example with_other(Example example, const char* name) {
  onnx::TensorProto& tensor = example.tensor(name);
  float value = 0;
  std::memcpy(&value, tensor.raw_data().data(), sizeof value);
  value *= 1.001F;
  tensor.set_raw_data(&value, sizeof value);
  return example;
}

const std::string kErf = "d = Div (x, root2) e = Erf (d) s = Add (e, one) ";
const std::string kTanh = "p = Pow (x, three) c = Mul (p, cubic) a = Add (x, c) i = Mul (a, root2pi) t = Tanh (i) s = Add (t, one) ";
const std::string kNormal =
    "m = ReduceMean <axes = [-1]> (v) d = Sub (v, m) q = Pow (d, two) w = ReduceMean <axes = [-1]> (q) e = Add (w, epsilon) "
    "s = Sqrt (e) n = Div (d, s) ";
const std::string kScaled = "k = Mul (n, scale) y = Add (k, bias)";
const std::string kRoot =
    "q = Pow (v, two) w = ReduceMean <axes = [-1]> (q) e = Add (w, epsilon) s = Sqrt (e) n = Div (one, s) k = Mul (v, n) "
    "y = Mul (scale, k)";

/// Two products that differ in their weights alone, read by `last`, under names that begin with `prefix`.
Example alike(const std::string& prefix, const std::string& last) {
  std::string body = "a = MatMul (x, u) b = MatMul (x, v) " + last;
  Example example("g (float[2,4] x) => (float[2,4] y) { " + body + " }");
  for (const char* const name : {"u", "v"}) example.add(name, normal(name, {4, 4}));
  return example.edit([&](onnx::ModelProto& model) {
    const auto rename = [&](std::string& name) { name = name == "x" || name == "y" ? name : prefix + name; };
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      std::ranges::for_each(*node.mutable_input(), rename);
      std::ranges::for_each(*node.mutable_output(), rename);
    }
    for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) rename(*tensor.mutable_name());
  });
}

Array stored(Array array) {
  for (double& value : array.values) value = rounded(value, DataType::float32);
  return array;
}

/// x times constants: of 4 columns, of 3 rows and numbers, and their products as stored numbers.
Example scaled(const std::string& nodes, double off = 0) {
  const Array columns = stored(normal("columns", {4})), rows = stored(normal("rows", {3, 1}));
  const auto times = [&](const Array& array, double factor) {
    Array out = array;
    for (double& number : out.values) number = rounded(number * factor, DataType::float32);
    return out;
  };
  Array both{DataType::float32, {3, 4}, {}}, quotient = columns;
  for (std::size_t i = 0; i < 12; ++i) both.values.push_back(rounded(columns.values[i % 4] * rows.values[i / 4], DataType::float32));
  for (double& number : quotient.values) number = rounded(0.3 / number, DataType::float32);
  both.values[7] = rounded(both.values[7] * (1 + off), DataType::float32);
  quotient.values[1] *= 1 + off;
  return Example("g (float[2,3,4] x) => (float[2,3,4] y) { " + nodes + " }")
      .add("columns", columns)
      .add("rows", rows)
      .add("both", both)
      .add("quotient", quotient)
      .add("double_columns", times(columns, 2))
      .add("half_rows", times(rows, 0.5))
      .add("minus_columns", times(columns, -1))
      .add("row_of_columns", {DataType::float32, {1, 1, 1, 4}, columns.values})
      .add("third", number(0.3))
      .add("two", number(2));
}

TEST(ProofOfFormulas, FactorsThatAreMergedOrSpreadDifferently) {
  const std::string two = "a = Mul (x, columns) y = Mul (a, rows)";
  const auto proves = [](const std::string& a, const std::string& b, double off = 0) {
    return prove(scaled(a), scaled(b, off)).proved && prove(scaled(b, off), scaled(a)).proved;
  };
  EXPECT_TRUE(proves(two, "y = Mul (both, x)"));
  EXPECT_TRUE(proves("t = Tanh (x) a = Mul (t, columns) b = Mul (rows, a) y = Abs (b)", "t = Tanh (x) b = Mul (t, both) y = Abs (b)"));
  EXPECT_TRUE(proves(two, "a = Mul (x, half_rows) y = Mul (a, double_columns)"));
  EXPECT_TRUE(proves("a = Mul (x, two) y = Mul (a, columns)", "y = Mul (x, double_columns)"));
  EXPECT_TRUE(proves("a = Mul (x, columns) y = Neg (a)", "y = Mul (x, minus_columns)"));
  EXPECT_TRUE(proves("a = Div (x, columns) y = Mul (a, third)", "y = Mul (x, quotient)"));
  EXPECT_FALSE(proves(two, "y = Mul (x, both)", 1e-6)) << "another factor";
  EXPECT_FALSE(proves("a = Div (x, columns) y = Mul (a, third)", "y = Mul (x, quotient)", 1e-6));
  EXPECT_FALSE(proves(two, "a = Mul (x, half_rows) y = Mul (a, columns)")) << "half";
  EXPECT_FALSE(proves("a = Mul (x, columns) y = Neg (a)", "y = Mul (x, columns)")) << "the sign";
  EXPECT_FALSE(proves("a = Div (third, x) y = Mul (a, columns)", "y = Mul (x, quotient)")) << "a divisor";
  EXPECT_FALSE(proves("a = Mul (x, columns) y = Mul (a, two)", "y = Mul (x, row_of_columns)")) << "another rank";
}

TEST(ProofOfFormulas, ATableThatHoldsTheFactorOfWhatIsGathered) {
  const auto model = [](const std::string& nodes, std::size_t other = 0) {
    const Array table = stored(normal("table", {50, 4})), columns = stored(normal("columns", {4}));
    Array twice = table, by_column = table, raised = table, lowered = table;
    for (std::size_t i = 0; i < twice.values.size(); ++i) {
      twice.values[i] = rounded(table.values[i] * number(0.3).values[0], DataType::float32);
      by_column.values[i] = rounded(table.values[i] * columns.values[i % 4], DataType::float32);
    }
    for (std::size_t i = 0; i < raised.values.size(); ++i) {
      raised.values[i] = rounded(table.values[i] + columns.values[i % 4], DataType::float32);
      lowered.values[i] = rounded(columns.values[i % 4] - table.values[i], DataType::float32);
    }
    if (other > 0) twice.values[other] *= 1.001;
    return Example("g (int64[N] i) => (float[N,4] y) { " + nodes + " }")
        .add("table", table)
        .add("scaled", twice)
        .add("by_column", by_column)
        .add("raised", raised)
        .add("lowered", lowered)
        .add("columns", columns)
        .add("factor", number(0.3));
  };
  const Example apart = model("a = Gather (table, i) y = Mul (a, factor)");
  EXPECT_TRUE(prove(apart, model("y = Gather (scaled, i)")).proved);
  EXPECT_TRUE(prove(model("y = Gather (scaled, i)"), apart).proved);
  EXPECT_TRUE(prove(model("a = Gather (table, i) y = Mul (columns, a)"), model("y = Gather (by_column, i)")).proved);
  EXPECT_TRUE(prove(model("a = Gather (table, i) y = Add (columns, a)"), model("y = Gather (raised, i)")).proved);
  EXPECT_TRUE(prove(model("y = Gather (lowered, i)"), model("a = Gather (table, i) y = Sub (columns, a)")).proved);
  EXPECT_FALSE(prove(model("y = Gather (lowered, i)"), model("a = Gather (table, i) y = Sub (a, columns)")).proved);
  EXPECT_FALSE(prove(model("a = Gather (table, i) y = Add (columns, a)"), model("y = Gather (lowered, i)")).proved);
  const std::string start = "z = Constant <value_ints = [0]> () ";
  EXPECT_TRUE(prove(model(start + "a = Slice (table, z, i) y = Mul (a, factor)"), model(start + "y = Slice (scaled, z, i)")).proved);
  EXPECT_FALSE(prove(model(start + "a = Slice (table, z, i) y = Mul (a, factor)"), model(start + "y = Slice (scaled, i, z)")).proved);
  EXPECT_FALSE(prove(apart, model("y = Gather (scaled, i)", 131)).proved) << "one row";
  EXPECT_FALSE(prove(apart, model("y = Gather (by_column, i)")).proved);
}

TEST(ProofOfFormulas, AlikeOperandsInAnotherOrderUnderOtherNames) {
  const std::string squares = "p = Mul (a, a) q = Mul (b, b) ", gate = "s = Sigmoid (b) ";
  for (const std::string prefix : {"", "other_"}) {
    const auto proves = [&](const std::string& a, const std::string& b) { return prove(alike("", a), alike(prefix, b)).proved; };
    EXPECT_TRUE(proves(squares + "y = Add (p, q)", squares + "y = Add (q, p)"));
    EXPECT_TRUE(proves(gate + "t = Mul (a, s) y = Add (t, b)", gate + "t = Mul (s, a) y = Add (b, t)"));
    EXPECT_TRUE(proves("t = Add (a, b) y = Mul (t, x)", "t = Add (b, a) y = Mul (x, t)"));
    EXPECT_FALSE(proves(squares + "y = Sub (p, q)", squares + "y = Sub (q, p)"));
    EXPECT_FALSE(proves(gate + "t = Mul (a, s) y = Add (t, b)", gate + "t = Mul (s, b) y = Add (a, t)"));
    EXPECT_FALSE(proves(squares + "y = Add (p, q)", "q = Mul (b, b) r = Mul (a, b) y = Add (r, q)"));
  }
}

TEST(ProofOfFormulas, OperandsThatExchangedTheirNames) {
  const Example a("g (float[2,4] x) => (float[2,4] y) { a = Sigmoid (x) b = Tanh (x) c = Mul (a, b) y = Add (c, x) }");
  const Example b("g (float[2,4] x) => (float[2,4] y) { b = Sigmoid (x) a = Tanh (x) c = Mul (a, b) y = Add (x, c) }");
  const Example other("g (float[2,4] x) => (float[2,4] y) { b = Sigmoid (x) a = Tanh (x) c = Mul (a, a) y = Add (x, c) }");
  EXPECT_TRUE(prove(a, b).proved);
  EXPECT_FALSE(prove(a, other).proved);
}

TEST(ProofOfFormulas, GeluInAnySpelling) {
  const Example fused = written("y = com.microsoft.Gelu (x)");
  for (const std::string rest :
       {"p = Mul (x, s) y = Mul (p, half)", "p = Mul (x, half) y = Mul (p, s)", "p = Mul (s, half) y = Mul (x, p)"}) {
    const ProofResult result = prove(written(kErf + rest), fused);
    EXPECT_TRUE(is_proved(result)) << rest;
    EXPECT_EQ(result.rewritten, 1);
    EXPECT_TRUE(is_proved(prove(fused, written(kErf + rest)))) << rest;
    EXPECT_FALSE(prove(written(kErf + rest), written("y = com.microsoft.FastGelu (x)")).proved) << "the other form";
    EXPECT_FALSE(prove(written(kErf + rest), written("y = com.microsoft.Gelu (r)")).proved) << "of another value";
  }
  const Example halved = written(kErf + "p = Mul (x, s) y = Mul (p, half)");
  for (const char* name : {"root2", "one", "half"}) {
    const ProofResult wrong = prove(with_other(halved, name), fused);
    ASSERT_FALSE(wrong.proved) << name;
    EXPECT_NE(wrong.unexplained[0].text.find("computes with"), std::string::npos) << wrong.unexplained[0].text;
  }
  EXPECT_FALSE(prove(written(kErf + "p = Mul (r, s) y = Mul (p, half)"), fused).proved) << "two values where one was";
  EXPECT_FALSE(prove(written(kErf + "y = Mul (x, s)"), fused).proved);
  EXPECT_FALSE(prove(halved, written("y = Identity (x)")).proved);
}

TEST(ProofOfFormulas, AnotherNumberLeavesOperandsWithTheirOwn) {
  const auto made = [](const std::string& product) {
    return written("u = Tanh (x) c = Sin (r) p = " + product + " d = Div (p, three) q = Mul (d, half) y = Add (q, one)");
  };
  for (const std::string product : {"Mul (u, c)", "Mul (c, u)"}) {
    const ProofResult wrong = prove(made("Mul (u, c)"), with_other(made(product), "one"));
    ASSERT_EQ(wrong.unexplained.size(), 1U) << product << ": " << wrong.unexplained[1].text;
    EXPECT_NE(wrong.unexplained[0].text.find("computes with"), std::string::npos) << wrong.unexplained[0].text;
  }
  EXPECT_GT(prove(made("Mul (u, c)"), with_other(made("Mul (u, u)"), "one")).unexplained.size(), 1U) << "another operand, too";
}

TEST(ProofOfFormulas, NumbersBelowTheStepsOfFloat16DoNotExceedItsRounding) {
  const Example before = written("v = Add (x, r) " + kRoot);
  const ProofResult of_guard = prove(before, with_other(before, "epsilon"));
  ASSERT_FALSE(of_guard.proved);
  EXPECT_NEAR(of_guard.unexplained[0].largest, 1e-3, 1e-6);
  EXPECT_EQ(of_guard.unexplained[0].beyond_half, 0);
  const Example halved = written(kErf + "p = Mul (x, s) y = Mul (p, half)");
  EXPECT_NEAR(prove(with_other(halved, "half"), written("y = com.microsoft.Gelu (x)")).unexplained[0].beyond_half, 1e-3, 1e-6);
  const Example fused = written("v = Add (x, r) y = SimplifiedLayerNormalization <axis = -1> (v, scale)");
  const ProofResult of_formula = prove(with_other(before, "epsilon"), fused);
  ASSERT_FALSE(of_formula.proved);
  EXPECT_EQ(of_formula.unexplained[0].beyond_half, 0) << of_formula.unexplained[0].text;
}

TEST(ProofOfFormulas, GeluByTanh) {
  const Example before = written(kTanh + "h = Mul (x, half) y = Mul (h, s)");
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.FastGelu (x)"))));
  EXPECT_FALSE(prove(before, written("y = com.microsoft.Gelu (x)")).proved);
  for (const char* name : {"cubic", "root2pi", "half", "one"}) {
    EXPECT_FALSE(prove(with_other(before, name), written("y = com.microsoft.FastGelu (x)")).proved) << name;
  }
  EXPECT_FALSE(prove(with_other(before, "three"), written("y = com.microsoft.FastGelu (x)")).proved) << "no whole power";
}

TEST(ProofOfFormulas, BiasUpstream) {
  const Example before = written("a = Add (x, bias) d = Div (a, root2) e = Erf (d) s = Add (e, one) p = Mul (a, s) y = Mul (p, half)");
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.BiasGelu (x, bias)"))));
  EXPECT_FALSE(prove(before, written("y = com.microsoft.Gelu (x)")).proved) << "dropped";
  EXPECT_TRUE(names(prove(before, written("y = com.microsoft.BiasGelu (x, shift)")), Kind::operand, "reads 'shift'"));
}

TEST(ProofOfFormulas, LogisticForms) {
  const Example before = written("s = Sigmoid (x) y = Mul (x, s)");
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.QuickGelu <alpha = 1.0> (x)"))));
  EXPECT_FALSE(prove(before, written("y = com.microsoft.QuickGelu <alpha = 1.001> (x)")).proved);
  EXPECT_FALSE(prove(before, written("y = com.microsoft.QuickGelu (x)")).proved);
  const Example scaled = written("a = Mul (alpha, x) s = Sigmoid (a) y = Mul (s, x)");
  EXPECT_TRUE(is_proved(prove(scaled, written("y = com.microsoft.QuickGelu (x)"))));
  EXPECT_FALSE(prove(written("s = Sigmoid (x) y = Mul (r, s)"), written("y = com.microsoft.QuickGelu <alpha = 1.0> (x)")).proved);
  const Example hard = written("y = HardSwish (x)");
  EXPECT_TRUE(is_proved(prove(hard, written("s = HardSigmoid <alpha = 0.16666667163372> (x) y = Mul (x, s)"))));
  EXPECT_FALSE(prove(hard, written("s = HardSigmoid <alpha = 0.2> (x) y = Mul (x, s)")).proved);
  EXPECT_FALSE(prove(hard, written("s = HardSigmoid <alpha = 0.16666667163372> (r) y = Mul (x, s)")).proved);
}

TEST(ProofOfFormulas, LayerNormalization) {
  const Example before = written("v = Add (x, shift) " + kNormal + kScaled);
  const std::string sum = "v = Add (x, shift) ";
  const auto after = [&](const std::string& attributes, const std::string& operands = "v, scale, bias") {
    return written(sum + "y = LayerNormalization <" + attributes + "> (" + operands + ")");
  };
  EXPECT_TRUE(is_proved(prove(before, after("axis = -1"))));
  EXPECT_TRUE(is_proved(prove(before, after("axis = 2"))));
  EXPECT_TRUE(is_proved(prove(after("axis = -1"), before)));
  EXPECT_FALSE(prove(before, after("axis = 1")).proved);
  EXPECT_FALSE(prove(before, after("axis = -1, epsilon = 1.001e-5")).proved);
  EXPECT_FALSE(prove(before, after("axis = -1", "v, bias, scale")).proved);
  EXPECT_FALSE(prove(before, after("axis = -1", "v, scale")).proved);
  EXPECT_FALSE(prove(before, after("axis = -1", "x, scale, bias")).proved);
  EXPECT_FALSE(prove(before, after("axis = -1", "v, scale, shift")).proved);
  // A mean along a different axis, or of a different power.
  for (const std::string wrong : {"m = ReduceMean <axes = [-2]> (v)", "m = ReduceMean <axes = [-1]> (x)"}) {
    std::string nodes = kNormal;
    nodes.replace(0, nodes.find("d = Sub") - 1, wrong);
    EXPECT_FALSE(prove(written(sum + nodes + kScaled), after("axis = -1")).proved) << wrong;
  }
}

TEST(ProofOfFormulas, SumThatIsNormalized) {
  const std::string skipped = "u = Add (x, shift) v = Add (u, r) ";
  const Example before = written(skipped + kNormal + kScaled);
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, r, scale, bias, shift)"))));
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (r, x, scale, bias, shift)"))));
  EXPECT_TRUE(is_proved(prove(written(skipped + "y = LayerNormalization (v, scale, bias)"),
                              written("y = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, r, scale, bias, shift)"))));
  for (const std::string operands :
       {"x, x, scale, bias, shift", "x, r, scale, bias", "x, r, scale, bias, bias", "x, r, shift, bias, scale"}) {
    EXPECT_FALSE(prove(before, written("y = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (" + operands + ")")).proved)
        << operands;
  }
  // The sum has a second reader: the operator returns it as an output.
  const Example read_again = written(skipped + "n = LayerNormalization (v, scale, bias) y = Mul (n, v)");
  const auto handed_out = [](const std::string& reader) {
    return written("n, , , w = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, r, scale, bias, shift) y = Mul (n, " + reader +
                   ")");
  };
  EXPECT_TRUE(is_proved(prove(read_again, handed_out("w"))));
  EXPECT_FALSE(prove(read_again, handed_out("x")).proved);
  EXPECT_FALSE(prove(read_again, handed_out("n")).proved);
}

TEST(ProofOfFormulas, RootMeanSquare) {
  const Example before = written("v = Add (x, r) " + kRoot);
  EXPECT_TRUE(is_proved(prove(before, written("v = Add (x, r) y = SimplifiedLayerNormalization <axis = -1> (v, scale)"))));
  EXPECT_TRUE(is_proved(prove(before, written("y = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.00001> (x, r, scale)"))));
  EXPECT_FALSE(prove(before, written("y = com.microsoft.SkipSimplifiedLayerNormalization (x, r, scale)")).proved) << "1e-12";
  EXPECT_FALSE(prove(before, written("v = Add (x, r) y = SimplifiedLayerNormalization <axis = -1> (v, bias)")).proved);
  EXPECT_FALSE(prove(before, written("v = Add (x, r) y = SimplifiedLayerNormalization <axis = 1> (v, scale)")).proved);
  EXPECT_FALSE(prove(with_other(before, "two"), written("v = Add (x, r) y = SimplifiedLayerNormalization <axis = -1> (v, scale)")).proved);
}

TEST(ProofOfFormulas, OperandsInAnotherOrder) {
  const auto sum = [](const std::string& operands) { return written("a = Relu (x) b = Relu (r) y = Add (" + operands + ")"); };
  EXPECT_TRUE(is_proved(prove(sum("a, b"), sum("b, a"))));
  EXPECT_FALSE(prove(sum("a, b"), sum("a, a")).proved);
  const auto difference = [](const std::string& operands) { return written("a = Relu (x) b = Relu (r) y = Sub (" + operands + ")"); };
  EXPECT_FALSE(prove(difference("a, b"), difference("b, a")).proved);
}

TEST(ProofOfFormulas, FactorsOfTheOtherSign) {
  const Example before = written("a = Sub (one, r) y = Mul (a, two)");
  EXPECT_TRUE(is_proved(prove(before, written("m = Neg (two) a = Sub (r, one) y = Mul (m, a)"))));
  EXPECT_TRUE(is_proved(prove(before, written("a = Sub (r, one) n = Neg (a) y = Mul (n, two)"))));
  EXPECT_TRUE(is_proved(
      prove(written("a = Sub (one, r) b = Mul (a, a) y = Mul (b, two)"), written("a = Sub (r, one) b = Mul (a, two) y = Mul (b, a)"))));
  EXPECT_FALSE(prove(before, written("a = Sub (r, one) y = Mul (a, two)")).proved);
  EXPECT_FALSE(prove(before, written("m = Neg (two) a = Sub (one, r) y = Mul (m, a)")).proved);
  EXPECT_FALSE(prove(before, written("m = Neg (two) a = Add (r, one) y = Mul (m, a)")).proved);
  EXPECT_FALSE(prove(written("a = Sub (one, r) y = Sqrt (a)"), written("a = Sub (r, one) y = Sqrt (a)")).proved);
}

TEST(ProofOfFormulas, ProductsOfMatrices) {
  const auto model = [](const std::string& nodes) {
    return Example("g (float[2,4,4] x, float[2,4,4] r) => (float[2,4,4] y) { " + nodes + " }").add("half", number(0.5));
  };
  const Example before = model("t = Transpose <perm = [0, 2, 1]> (r) m = MatMul (x, t) y = Mul (m, half)");
  const auto fused = [&](const std::string& attributes, const std::string& operands = "x, r") {
    return model("y = com.microsoft.FusedMatMul <" + attributes + "> (" + operands + ")");
  };
  EXPECT_TRUE(is_proved(prove(before, fused("alpha = 0.5, transB = 1"))));
  EXPECT_TRUE(is_proved(
      prove(model("s = Mul (half, x) t = Transpose <perm = [0, 2, 1]> (r) y = MatMul (s, t)"), fused("alpha = 0.5, transB = 1"))));
  for (const std::string wrong : {"alpha = 0.5, transA = 1", "alpha = 0.5", "transB = 1", "alpha = 0.501, transB = 1",
                                  "alpha = 0.5, transA = 1, transB = 1", "alpha = 0.5, transB = 1, transBatchB = 1"}) {
    EXPECT_FALSE(prove(before, fused(wrong)).proved) << wrong;
  }
  EXPECT_FALSE(prove(before, fused("alpha = 0.5, transB = 1", "r, x")).proved);
  EXPECT_FALSE(
      prove(model("t = Transpose <perm = [1, 0, 2]> (r) m = MatMul (x, t) y = Mul (m, half)"), fused("alpha = 0.5, transB = 1")).proved);
}

/// Formulas that cancel, or that are equal only for positive numbers.
TEST(ProofOfFormulas, FormulasThatAreNotEqualEverywhere) {
  EXPECT_FALSE(prove(written("s = Sqrt (x) a = Mul (s, s) y = Add (a, r)"), written("y = Add (x, r)")).proved);
  EXPECT_FALSE(prove(written("s = Mul (x, x) a = Sqrt (s) y = Add (a, r)"), written("y = Add (x, r)")).proved);
  EXPECT_FALSE(prove(written("a = Div (x, x) y = Mul (a, r)"), written("y = Identity (r)")).proved);
  EXPECT_FALSE(prove(written("a = Sub (x, x) y = Add (a, r)"), written("y = Identity (r)")).proved);
  EXPECT_FALSE(prove(written("a = Add (x, r) b = Mul (a, a) y = Sqrt (b)"), written("y = Add (x, r)")).proved);
}

/// A number of more dims than the value would enlarge it.
TEST(ProofOfFormulas, NumbersAreAsExactAsTheirType) {
  // Within one operator the number must be equal; between two spellings it may be rounded to its type.
  const auto product = [](DataType type, double k) {
    const std::string name = type == DataType::float64 ? "double" : "float";
    return Example("g (" + name + "[4] x) => (" + name + "[4] y) { y = Mul (x, k) }").add("k", {type, {}, {k}});
  };
  for (const DataType type : {DataType::float32, DataType::float64}) {
    EXPECT_TRUE(is_proved(prove(product(type, 3), product(type, 3))));
    EXPECT_TRUE(names(prove(product(type, 3), product(type, next(3, type))), Kind::tensor, "constant 'k' differs"));
  }
  const auto gelu = [](double root2) {
    return Example("g (double[4] x) => (double[4] y) { d = Div (x, root2) e = Erf (d) s = Add (e, one) p = Mul (x, s) y = Mul (p, half) }")
        .add("root2", {DataType::float64, {}, {root2}})
        .add("one", {DataType::float64, {}, {1}})
        .add("half", {DataType::float64, {}, {0.5}});
  };
  const auto by_product = [] {
    return Example("g (double[4] x) => (double[4] y) { d = Mul (x, root) e = Erf (d) s = Add (e, one) h = Mul (x, half) y = Mul (h, s) }")
        .add("root", {DataType::float64, {}, {0.70710678118654757}})
        .add("one", {DataType::float64, {}, {1}})
        .add("half", {DataType::float64, {}, {0.5}});
  };
  EXPECT_TRUE(is_proved(prove(gelu(1.4142135623730951), by_product())));
  EXPECT_FALSE(prove(gelu(1.4142135623731951), by_product()).proved) << "off by 1e-12";
}

TEST(ProofOfFormulas, NumbersOfMoreDims) {
  const auto model = [](const std::string& nodes, const Dims& dims) {
    return Example("g (float[4] x) => (y) { " + nodes + " }").add("half", Array{DataType::float32, dims, {0.5}});
  };
  const Example scalar = model("s = Sigmoid (x) p = Mul (x, s) y = Mul (p, half)", {});
  const std::string turned = "s = Sigmoid (x) p = Mul (half, s) y = Mul (p, x)";
  EXPECT_TRUE(is_proved(prove(scalar, model(turned, {}))));
  EXPECT_TRUE(is_proved(prove(scalar, model(turned, {1}))));
  EXPECT_FALSE(prove(scalar, model(turned, {1, 1})).proved);
}

/// 1 − s + 1e-7 where s is close to 1: the small number is all that keeps a Log, root or divisor off 0.
class SmallNumbers : public testing::TestWithParam<DataType> {
 protected:
  static Example written(const std::string& nodes, double small, const std::string& dims = "N,4") {
    const DataType type = GetParam();
    const std::string name = type == DataType::float64 ? "double" : type == DataType::float16 ? "float16" : "float";
    const auto scalar = [&](double value) { return Array{type, {}, {rounded(value, type)}}; };
    Example out("g (" + name + "[" + dims + "] x) => (y) { s = Sigmoid (x) " + nodes + " }");
    for (const auto& [constant, value] : std::initializer_list<std::pair<const char*, double>>{
             {"small", small}, {"one", 1}, {"two", 2}, {"three", 3}, {"half", 0.5}, {"tenth", 0.1}, {"fifth", 0.2}, {"sum", 0.3}}) {
      if (nodes.find(constant) != std::string::npos) out.add(constant, scalar(value));
    }
    return out;
  }
  /// Small numbers beside 1 that the type can hold.
  static std::vector<double> all_small() {
    if (GetParam() == DataType::float64) return {1e-12, 1e-15};
    if (GetParam() == DataType::float16) return {1e-3, 1e-4, 1e-6};
    return {1e-6, 1e-7, 1e-12};
  }
};

TEST_P(SmallNumbers, StayWhereOtherTermsMayCancel) {
  const std::string sum = "a = Sub (one, s) b = Add (a, small) ";
  for (const double small : all_small()) {
    for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
             {sum + "y = Log (b)", "a = Sub (one, s) y = Log (a)"},
             {sum + "y = Log (b)", "q = Sub (one, s) y = Log (q)"},
             {sum + "y = Log (b)", "n = Neg (s) q = Add (one, n) y = Log (q)"},
             {sum + "y = Sqrt (b)", "n = Neg (s) q = Add (n, one) y = Sqrt (q)"},
             {"a = Sub (s, small) b = Sub (one, a) y = Reciprocal (b)", "q = Sub (one, s) y = Reciprocal (q)"},
             {sum + "y = Div (x, b)", "q = Sub (one, s) y = Div (x, q)"},
             {sum + "y = Pow (b, half)", "q = Sub (one, s) y = Sqrt (q)"},
             {sum + "m = Mul (b, two) d = Mul (m, three) y = Log (d)", "q = Sub (one, s) m = Mul (three, q) d = Mul (m, two) y = Log (d)"},
             {sum + "m = Mul (b, two) y = Log (m)", "q = Sub (one, s) m = Add (q, q) y = Log (m)"},
             {sum + "r = ReduceSum <keepdims = 1> (b) y = Div (x, r)", "q = Sub (one, s) r = ReduceSum <keepdims = 1> (q) y = Div (x, r)"},
             {sum + "y = Log (b)", "a = Sub (small, s) b = Add (a, one) y = Log (b)"},
             {sum + "y = Log (b)", "k = Add (one, small) b = Sub (k, s) y = Log (b)"},
             {"a = Add (s, one) b = Add (a, small) y = Log (b)", "a = Add (s, small) b = Add (a, one) y = Log (b)"}}) {
      EXPECT_FALSE(prove(written(before, small), written(after, small)).proved) << small << ": " << before << " / " << after;
      EXPECT_FALSE(prove(written(after, small), written(before, small)).proved) << small << ": " << after << " / " << before;
    }
  }
}

TEST_P(SmallNumbers, AreTheSameInOtherOrders) {
  const std::string sum = "a = Sub (one, s) b = Add (a, small) ";
  for (const double small : all_small()) {
    for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
             {sum + "y = Log (b)", "q = Sub (one, s) r = Add (small, q) y = Log (r)"},
             {sum + "y = Log (b)", "n = Neg (s) q = Add (one, n) r = Add (small, q) y = Log (r)"},
             {sum + "m = Mul (b, two) d = Mul (m, three) y = Log (d)",
              "n = Neg (s) q = Add (n, one) r = Add (q, small) m = Mul (three, r) d = Mul (m, two) y = Log (d)"},
             {"a = Add (s, one) b = Add (a, two) y = Log (b)", "a = Add (s, three) y = Log (a)"},
             {"a = Add (s, tenth) b = Add (fifth, a) y = Log (b)", "a = Add (sum, s) y = Log (a)"}}) {
      EXPECT_TRUE(is_proved(prove(written(before, small), written(after, small)))) << small << ": " << before << " / " << after;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ProofOfFormulas, SmallNumbers, testing::Values(DataType::float32, DataType::float64, DataType::float16));

TEST(ProofOfFormulas, NumbersBesideTermsAreAsStored) {
  const auto model = [](const std::string& nodes, double one) {
    return Example("g (float[N,4] x) => (float[N,4] y) { s = Sigmoid (x) " + nodes + " }").add("one", number(one));
  };
  const double above = next(1, DataType::float32);
  EXPECT_TRUE(is_proved(prove(model("q = Sub (one, s) y = Log (q)", 1), model("n = Neg (s) q = Add (n, one) y = Log (q)", 1))));
  EXPECT_FALSE(prove(model("q = Sub (one, s) y = Log (q)", above), model("n = Neg (s) q = Add (n, one) y = Log (q)", 1)).proved);
  EXPECT_FALSE(prove(model("q = Sub (one, s) y = Log (q)", 1), model("n = Neg (s) q = Add (n, one) y = Log (q)", above)).proved);
}

TEST(ProofOfFormulas, SmallNumbersWithinFunctions) {
  const auto model = [](const std::string& nodes, const std::string& body) {
    const std::string function = "<domain: \"own\", opset_import: [\"\" : 17]> f (p, u, e) => (r) { " + body + " }";
    return Example("g (float[N,4] x) => (float[N,4] y) { " + nodes + " } " + (body.empty() ? "" : function))
        .add("one", number(1))
        .add("small", number(1e-7));
  };
  const std::string call = "y = own.f (x, one, small)", guarded = "s = Sigmoid (p) a = Sub (u, s) b = Add (a, e) r = Log (b)";
  EXPECT_TRUE(is_proved(prove(model(call, guarded), model("s = Sigmoid (x) a = Sub (one, s) b = Add (small, a) y = Log (b)", ""))));
  EXPECT_FALSE(prove(model(call, guarded), model("s = Sigmoid (x) a = Sub (one, s) y = Log (a)", "")).proved);
  EXPECT_FALSE(prove(model(call, guarded), model(call, "s = Sigmoid (p) n = Neg (s) a = Add (u, n) r = Log (a)")).proved);
  EXPECT_FALSE(prove(model("s = Sigmoid (x) n = Neg (s) a = Add (one, n) y = Log (a)", ""), model(call, guarded)).proved);
}

/// Constants without effect may be dropped, unless they give the value some of its dims.
TEST(ProofOfFormulas, ConstantsThatAreOneNumber) {
  const auto model = [](const std::string& nodes, const Dims& dims, double last = 1) {
    Array ones{DataType::float32, dims, std::vector<double>(static_cast<std::size_t>(dims.back()), 1)};
    ones.values.back() = last;
    return Example("g (float[3,1] x) => (y) { " + nodes + " }").add("ones", ones);
  };
  const Example without = model("s = Erf (x) y = Softmax (s)", {1});
  const std::string with = "s = Erf (x) p = Mul (s, ones) y = Softmax (p)";
  EXPECT_TRUE(is_proved(prove(model(with, {1}), without)));
  EXPECT_FALSE(prove(model(with, {2}), without).proved) << "broadcast";
  const auto wide = [](const std::string& nodes, double last) {
    return Example("g (float[3,4] x) => (y) { " + nodes + " }").add("ones", Array{DataType::float32, {4}, {1, 1, 1, last}});
  };
  EXPECT_TRUE(is_proved(prove(wide(with, 1), wide("s = Erf (x) y = Softmax (s)", 1))));
  EXPECT_FALSE(prove(wide(with, 1.001), wide("s = Erf (x) y = Softmax (s)", 1.001)).proved);
}

TEST(ProofOfBodies, ActivationsOfConvolutions) {
  const auto model = [](const std::string& nodes) {
    return Example("g (float[1,4,6,6] x, float[1,4,6,6] r) => (float[1,4,6,6] y) { " + nodes + " }")
        .add("w", normal("w", {4, 4, 1, 1}))
        .add("b", normal("b", {4}))
        .add("least", number(0))
        .add("most", number(6));
  };
  const auto fused = [&](const std::string& attributes, const std::string& operands = "x, w, b") {
    return model("y = com.microsoft.FusedConv <" + attributes + "> (" + operands + ")");
  };
  const Example relu = model("c = Conv (x, w, b) y = Relu (c)"), clip = model("c = Conv (x, w, b) y = Clip (c, least, most)");
  const ProofResult result = prove(relu, fused("activation = \"Relu\""));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.rewritten, 1);
  EXPECT_TRUE(is_proved(prove(clip, fused("activation = \"Clip\", activation_params = [0.0, 6.0]"))));
  EXPECT_TRUE(is_proved(prove(model("c = Conv (x, w, b) a = Add (c, r) y = Relu (a)"), fused("activation = \"Relu\"", "x, w, b, r"))));
  EXPECT_FALSE(prove(relu, fused("activation = \"Sigmoid\"")).proved);
  EXPECT_FALSE(prove(relu, model("y = com.microsoft.FusedConv (x, w, b)")).proved);
  EXPECT_FALSE(prove(relu, fused("activation = \"Snake\"")).proved) << "no body is known";
  EXPECT_FALSE(prove(relu, fused("activation = \"Relu\", strides = [1, 2]")).proved);
  EXPECT_FALSE(prove(relu, fused("activation = \"Relu\"", "x, w, b, r")).proved);
  EXPECT_FALSE(prove(relu, fused("activation = \"Relu\"", "x, w")).proved);
  EXPECT_FALSE(prove(relu, fused("activation = \"Relu\"", "r, w, b")).proved);
  EXPECT_FALSE(prove(clip, fused("activation = \"Clip\", activation_params = [0.0, 5.0]")).proved);
  EXPECT_FALSE(prove(clip, fused("activation = \"Clip\", activation_params = [0.0]")).proved) << "invalid";
}

}  // namespace
}  // namespace relayout::test
