#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "base/machine.h"
#include "exec/model_builder.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/many.h"

namespace relayout::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Mode kModes[] = {Mode::reference, Mode::as_written, Mode::optimized};

void expect_same(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " element " << i << " is " << got[i];
    } else {
      EXPECT_FLOAT_EQ(got[i], wanted[i]) << what << " element " << i;
    }
  }
}

struct FunctionCase {
  const char* op;
  std::vector<float> wanted;  ///< of NaN, −inf, inf, −1, 0, 2
};

/// Special values by IEEE 754 and the operators' definitions.
const std::vector<FunctionCase>& function_cases() {
  static const std::vector<FunctionCase> cases = {
      {"Relu", {kNaN, 0, kInfinity, 0, 0, 2}},
      {"Abs", {kNaN, kInfinity, kInfinity, 1, 0, 2}},
      {"Sqrt", {kNaN, kNaN, kInfinity, kNaN, 0, std::sqrt(2.0F)}},
      {"HardSigmoid", {kNaN, 0, 1, 0.3F, 0.5F, 0.9F}},
      {"HardSwish", {kNaN, kNaN, kInfinity, -1.0F / 3.0F, 0, 5.0F / 3.0F}},
      {"Sigmoid", {kNaN, 0, 1, 0.26894143F, 0.5F, 0.8807971F}},
      {"LeakyRelu", {kNaN, -kInfinity, kInfinity, -0.01F, 0, 2}},
      {"Tanh", {kNaN, -1, 1, -0.7615942F, 0, 0.9640276F}},
      {"Elu", {kNaN, -1, kInfinity, -0.63212055F, 0, 2}},
      {"Softplus", {kNaN, 0, kInfinity, 0.3132617F, 0.6931472F, 2.126928F}},
      {"Sign", {kNaN, -1, 1, -1, 0, 1}},
      {"Log", {kNaN, kNaN, kInfinity, kNaN, -kInfinity, 0.6931472F}},
  };
  return cases;
}

TEST(NotANumber, SurvivesFunctions) {
  const std::vector<float> inputs = {kNaN, -kInfinity, kInfinity, -1, 0, 2};
  for (const FunctionCase& one : function_cases()) {
    ModelBuilder builder;
    builder.input("x", {2, 3}).node(one.op, {"x"}, {"y"}).output("y");
    const auto model = builder.build();
    for (const Mode mode : kModes) {
      const RunResult result = run_in(mode, *model, {{"x", tensor_of({2, 3}, inputs)}});
      expect_same(values_of(result.outputs[0]), one.wanted, std::string(one.op) + " " + std::string(to_string(mode)));
    }
  }
}

/// By the operator's definition: the mean of each line, and 1 / √(variance + ε).
TEST(Statistics, OfANormalization) {
  for (const std::vector<std::string>& outputs : {std::vector<std::string>{"y", "mean", "inverse"}, {"y", "", "inverse"}, {"y", "mean"}}) {
    ModelBuilder builder;
    builder.input("x", {2, 1, 4}).constant("scale", {4}, std::vector<float>{1, 2, 3, 4});
    builder.node("LayerNormalization", {"x", "scale"}, outputs).real("epsilon", 0.25F);
    for (const std::string& name : outputs) {
      if (!name.empty()) builder.output(name);
    }
    const auto model = builder.build();
    for (const Mode mode : kModes) {
      const RunResult result = run_in(mode, *model, {{"x", tensor_of({2, 1, 4}, {1, 3, 1, 3, 0, 0, 4, 4})}});
      // Variances 1 and 4.
      const std::vector<float> mean{2, 2}, inverse{1 / std::sqrt(1.25F), 1 / std::sqrt(4.25F)};
      for (std::size_t i = 1; i < result.outputs.size(); ++i) {
        const bool is_mean = i == 1 && outputs[1] == "mean";
        EXPECT_EQ(result.outputs[i].dims(), (Dims{2, 1, 1}));
        expect_same(values_of(result.outputs[i]), is_mean ? mean : inverse, std::string(to_string(mode)));
      }
    }
  }
}

/// y = 0.5 · gated · (one + erf(x / 2)), node by node as exporters write GELU.
struct WrittenGelu {
  float one = 1;
  bool multiplies = false;   ///< by 1 / 2 instead of a division by 2, and exchanges the factors downstream
  bool gates_other = false;  ///< a value other than x
};

std::unique_ptr<Model> model_of(const WrittenGelu& gelu, const Dims& dims) {
  using Names = std::vector<std::string>;
  ModelBuilder builder;
  builder.input("x", dims).input("z", dims).constant("inner", {}, std::vector<float>{gelu.multiplies ? 0.5F : 2.0F});
  builder.constant("one", {1}, std::vector<float>{gelu.one}).constant("outer", {}, std::vector<float>{0.5F});
  builder.node(gelu.multiplies ? "Mul" : "Div", {"x", "inner"}, {"a"}).node("Erf", {"a"}, {"b"}).node("Add", {"b", "one"}, {"c"});
  builder.node("Mul", gelu.multiplies ? Names{"c", "x"} : Names{gelu.gates_other ? "z" : "x", "c"}, {"d"});
  builder.node("Mul", {"d", "outer"}, {"y"}).output("y");
  return builder.build();
}

void expect_gelu(const WrittenGelu& gelu, const std::vector<float>& x, const std::vector<float>& got) {
  ASSERT_EQ(got.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double gated = gelu.gates_other ? 2 : double{x[i]}, wanted = 0.5 * gated * (double{gelu.one} + std::erf(double{x[i]} / 2));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got[i])) << "of " << x[i] << " is " << got[i];
    } else if (std::isinf(wanted)) {
      EXPECT_EQ(got[i], wanted) << "of " << x[i];
    } else {
      EXPECT_NEAR(got[i], wanted, 4e-7 * std::abs(gated)) << "of " << x[i];
    }
  }
}

/// GELU is one function of its operand; a sum with a number other than 1 or a product with a different value is not.
TEST(WrittenGelu, IsItsFormula) {
  std::vector<float> x{kNaN, -kInfinity, kInfinity, 0, 1e30F, -1e30F};
  for (int i = -3000; i <= 3000; ++i) x.push_back(static_cast<float>(i) / 300);
  const Dims dims{1, static_cast<int64_t>(x.size())};
  const Inputs inputs{{"x", tensor_of(dims, x)}, {"z", tensor_of(dims, std::vector<float>(x.size(), 2.0F))}};
  for (const WrittenGelu& gelu : {WrittenGelu{}, {.multiplies = true}, {.one = 3}, {.gates_other = true}}) {
    const auto model = model_of(gelu, dims);
    for (const Mode mode : kModes) {
      const RunResult result = run_in(mode, *model, inputs);
      SCOPED_TRACE(to_string(mode));
      ASSERT_NO_FATAL_FAILURE(expect_gelu(gelu, x, values_of(result.outputs.at(0))));
      if (mode != Mode::optimized || gelu.one != 1 || gelu.gates_other) continue;
      ASSERT_EQ(result.info.steps.size(), 1U);
      EXPECT_EQ(result.info.steps[0].bytes, 8 * std::ssize(x));  // x and the result, no numbers
    }
  }
}

/// GELU downstream of an operator that leaves its operand unchanged: a convolution or a product by 1, or one with a bias that is subtracted
/// again.
std::unique_ptr<Model> gelu_after(const std::string& op, bool is_one_node, const Dims& dims) {
  ModelBuilder builder(is_one_node ? 20 : 17);
  builder.input("x", dims).constant("root", {}, std::vector<float>{1.41421356F});
  builder.constant("one", {}, std::vector<float>{1}).constant("half", {}, std::vector<float>{0.5F});
  builder.constant("w", op == "Conv" ? Dims{1, 1, 1, 1} : Dims{1, 1}, std::vector<float>{1});
  builder.constant("zero", {1}, std::vector<float>{0});
  if (op == "MatMul") {
    builder.node("MatMul", {"x", "w"}, {"m"}).node("Add", {"zero", "m"}, {"c"});
  } else {
    builder.node(op, {"x", "w", "zero"}, {"c"});
  }
  if (is_one_node) return builder.node("Gelu", {"c"}, {"y"}).output("y").build();
  builder.node("Div", {"c", "root"}, {"a"}).node("Erf", {"a"}, {"b"}).node("Add", {"b", "one"}, {"d"}).node("Mul", {"c", "d"}, {"e"});
  return builder.node("Mul", {"e", "half"}, {"y"}).output("y").build();
}

/// The library computes GELU while it writes, with AVX-512. For +∞ it gives NaN, as every evaluation of the formula does for −∞.
TEST(WrittenGelu, IsItsFormulaDownstreamOfConvolutionsAndProducts) {
  std::vector<float> x{kNaN, 0, 1e30F, -1e30F, 1e-30F, -1e-30F};
  for (int i = -6000; i <= 6000; ++i) x.push_back(static_cast<float>(i) / 500);
  const int64_t count = std::ssize(x);
  for (const std::string op : {"Conv", "MatMul", "Gemm"}) {
    const Dims dims = op == "Conv" ? Dims{1, 1, count, 1} : Dims{count, 1};
    for (const bool is_one_node : {false, true}) {
      const auto model = gelu_after(op, is_one_node, dims);
      for (const Mode mode : kModes) {
        SCOPED_TRACE(op + (is_one_node ? ", Gelu, " : ", written out, ") + std::string(to_string(mode)));
        const RunResult result = run_in(mode, *model, {{"x", tensor_of(dims, x)}});
        const std::vector<float> got = values_of(result.outputs.at(0));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double wanted = 0.5 * double{x[i]} * std::erfc(-double{x[i]} / std::numbers::sqrt2);
          if (std::isnan(wanted)) {
            ASSERT_TRUE(std::isnan(got[i])) << "of " << x[i] << " is " << got[i];
          } else {
            ASSERT_NEAR(got[i], wanted, 4e-7 * std::abs(double{x[i]})) << "of " << x[i];
          }
        }
        const bool is_one_step = mode == Mode::optimized && instruction_set() == InstructionSet::avx512;
        EXPECT_TRUE(!is_one_step || result.info.steps.size() == 1U) << result.info.steps.size();
      }
    }
  }
}

TEST(NotANumber, SurvivesClipsAndExtremes) {
  ModelBuilder builder;
  builder.input("a", {4}).input("b", {4}).constant("low", {}, std::vector<float>{-1}).constant("high", {}, std::vector<float>{1});
  builder.node("Clip", {"a", "low", "high"}, {"clip"}).output("clip");
  builder.node("Max", {"a", "b"}, {"max"}).node("Min", {"a", "b"}, {"min"}).output("max").output("min");
  builder.node("Clip", {"a", "high", "low"}, {"crossed"}).output("crossed");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const std::string name(to_string(mode));
    const RunResult result =
        run_in(mode, *model, {{"a", tensor_of({4}, {kNaN, 3, -3, kInfinity})}, {"b", tensor_of({4}, {1, kNaN, 2, -kInfinity})}});
    expect_same(values_of(result.outputs[0]), {kNaN, 1, -1, 1}, "Clip " + name);
    expect_same(values_of(result.outputs[1]), {kNaN, kNaN, 2, kInfinity}, "Max " + name);
    expect_same(values_of(result.outputs[2]), {kNaN, kNaN, -3, -kInfinity}, "Min " + name);
    expect_same(values_of(result.outputs[3]), {kNaN, -1, -1, -1}, "crossed bounds " + name);
  }
}

TEST(NotANumber, FillsItsLineOfASoftmax) {
  for (const int64_t axis : {0, 1}) {
    ModelBuilder builder;
    builder.input("x", axis == 1 ? Dims{4, 3} : Dims{3, 4}).node("Softmax", {"x"}, {"y"}).integer("axis", axis).output("y");
    const auto model = builder.build();
    const std::vector<std::vector<float>> lines{{1, kNaN, 2}, {kInfinity, 1, -kInfinity}, {-kInfinity, 5, -kInfinity}, {3, 3, -kInfinity}};
    const std::vector<std::vector<float>> wanted{{kNaN, kNaN, kNaN}, {kNaN, kNaN, kNaN}, {0, 1, 0}, {0.5F, 0.5F, 0}};
    std::vector<float> inputs(12), outputs(12);
    for (std::size_t i = 0; i < 12; ++i) {
      const std::size_t line = axis == 1 ? i / 3 : i % 4, at = axis == 1 ? i % 3 : i / 4;
      inputs[i] = lines[line][at];
      outputs[i] = wanted[line][at];
    }
    for (const Mode mode : kModes) {
      const Tensor x = tensor_of(axis == 1 ? Dims{4, 3} : Dims{3, 4}, inputs);
      expect_same(values_of(run_in(mode, *model, {{"x", x}}).outputs[0]), outputs,
                  std::string(to_string(mode)) + " " + std::to_string(axis));
    }
  }
}

TEST(NotANumber, WinsAMaximum) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 2, 4}).node("MaxPool", {"x"}, {"y"}).integers("kernel_shape", {2, 2}).integers("strides", {2, 2}).output("y");
  const auto model = builder.build();
  const Tensor x = tensor_of({1, 2, 2, 4}, {1, 2, -kInfinity, -kInfinity, kNaN, 3, -kInfinity, -kInfinity, 5, 6, 7, kNaN, 8, 9, 1, 2});
  for (const Mode mode : kModes) {
    expect_same(values_of(run_in(mode, *model, {{"x", x}}).outputs[0]), {kNaN, -kInfinity, 9, kNaN}, std::string(to_string(mode)));
  }
}

TEST(NotANumber, PassesThroughAConvolutionAsWritten) {
  ModelBuilder builder;
  builder.input("x", {1, 1, 1, 5}).constant("w", {1, 1, 1, 1}, std::vector<float>{2}).node("Conv", {"x", "w"}, {"c"});
  builder.node("Relu", {"c"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : {Mode::reference, Mode::as_written}) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({1, 1, 1, 5}, {kNaN, -1, 1, kInfinity, -kInfinity})}});
    expect_same(values_of(result.outputs[0]), {kNaN, 0, 2, kInfinity, 0}, std::string(to_string(mode)));
  }
}

TEST(Executor, SubnormalsStay) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  ModelBuilder builder;
  builder.input("x", {1, 1, 2, 2})
      .constant("w", {1, 1, 1, 1}, std::vector<float>{4})
      .node("Conv", {"x", "w"}, {"c"})
      .node("Relu", {"c"}, {"y"});
  builder.output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    EXPECT_EQ(values_of(run_in(mode, *model, {{"x", tensor_of({1, 1, 2, 2}, {tiny, -tiny, 2 * tiny, 0})}}).outputs[0]),
              (std::vector<float>{4 * tiny, 0, 8 * tiny, 0}))
        << to_string(mode);
  }
}

TEST(Executor, EmptyTensorsAndScalars) {
  ModelBuilder builder;
  builder.input("x", {0, 3, 4, 5}).constant("w", {2, 3, 1, 1}, std::vector<float>(6, 1)).node("Conv", {"x", "w"}, {"c"});
  builder.node("Relu", {"c"}, {"r"}).node("GlobalAveragePool", {"r"}, {"y"}).output("y");
  builder.input("s", {}).constant("one", {}, std::vector<float>{1}).node("Add", {"s", "one"}, {"t"}).output("t");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({0, 3, 4, 5}, {})}, {"s", tensor_of({}, {41})}});
    EXPECT_EQ(result.outputs[0].dims(), (Dims{0, 2, 1, 1}));
    EXPECT_EQ(values_of(result.outputs[1]), std::vector<float>{42});
  }
}

TEST(Executor, OnePlanPerShapeAndTheSameAgain) {
  ModelBuilder builder;
  builder.input("x", {-1, 2, 3, 3}).constant("w", {2, 2, 3, 3}, normal_values(36, RandomStream(1, "w"), 0)).node("Conv", {"x", "w"}, {"y"});
  builder.integers("pads", {1, 1, 1, 1}).output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    ExecuteOptions options;
    options.mode = mode;
    Executor executor(model->graph(), options);
    std::map<int64_t, std::vector<float>> first;
    for (int round = 0; round < 3; ++round) {
      for (int64_t batch = 1; batch <= 12; ++batch) {
        const Dims dims{batch, 2, 3, 3};
        const Outputs out = executor.run({{"x", tensor_of(dims, normal_values(18 * batch, RandomStream(2, "x"), 0))}});
        const std::vector<float> values = values_of(out[0].tensor);
        if (round == 0) first[batch] = values;
        EXPECT_EQ(values, first[batch]) << "bit-equal run to run";
      }
    }
  }
}

TEST(Executor, OneWeightOfAConvolutionAndATransposedOne) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 1, 1}).constant<float>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  builder.node("Conv", {"x", "w"}, {"y"}).node("ConvTranspose", {"x", "w"}, {"z"}).output("y").output("z");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({1, 2, 1, 1}, {1, 10})}});
    // y[o] = Σ w[o,i]·x[i], z[o] = Σ w[i,o]·x[i]
    expect_same(values_of(result.outputs[0]), {21, 43}, "Conv " + std::string(to_string(mode)));
    expect_same(values_of(result.outputs[1]), {31, 42}, "ConvTranspose " + std::string(to_string(mode)));
  }
}

/// A BatchNormalization is absorbed into the bias of a convolution only if the bias is constant.
TEST(Executor, NormalizesConvolutionsOfComputedBias) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 2, 2}).input("bias", {2}).constant("w", {2, 2, 1, 1}, std::vector<float>{1, 0, 0, 1});
  builder.constant("one", {2}, std::vector<float>{1, 1}).constant("two", {2}, std::vector<float>{2, 2});
  builder.node("Conv", {"x", "w", "bias"}, {"c"});
  builder.node("BatchNormalization", {"c", "two", "one", "one", "one"}, {"y"}).real("epsilon", 0.0F).output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result =
        run_in(mode, *model, {{"x", tensor_of({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {"bias", tensor_of({2}, {10, 20})}});
    expect_same(values_of(result.outputs.at(0)), {21, 23, 25, 27, 49, 51, 53, 55}, std::string(to_string(mode)));
  }
}

TEST(Executor, ShapesThatDependOnData) {
  ModelBuilder builder;
  builder.input("x", {2, 6}).input("shape", {2}, DataType::int64).constant<int64_t>("minus", {1}, {-1});
  builder.node("Relu", {"x"}, {"r"})
      .node("Reshape", {"r", "shape"}, {"s"})
      .node("Sigmoid", {"s"}, {"t"})
      .node("Reshape", {"t", "minus"}, {"flat"});
  builder.node("Reshape", {"x", "shape"}, {"u"}).node("Add", {"t", "u"}, {"y"}).output("y").output("flat").output("r");
  const auto model = builder.build();
  const std::vector<float> x = normal_values(12, RandomStream(3, "x"), 0);
  for (const Mode mode : kModes) {
    ExecuteOptions options;
    options.mode = mode;
    Executor executor(model->graph(), options);
    for (const Dims& dims : {Dims{3, 4}, Dims{12, 1}, Dims{3, 4}, Dims{1, 12}}) {
      Tensor shape(DataType::int64, {2});
      std::copy(dims.begin(), dims.end(), shape.data<int64_t>());
      const Outputs out = executor.run({{"x", tensor_of({2, 6}, x)}, {"shape", shape}});
      EXPECT_EQ(out[0].tensor.dims(), dims);
      EXPECT_EQ(out[1].tensor.dims(), Dims{12});
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float r = std::max(x[i], 0.0F);
        EXPECT_EQ(values_of(out[2].tensor)[i], r);
        EXPECT_NEAR(values_of(out[0].tensor)[i], 1 / (1 + std::exp(-r)) + x[i], 1e-6);
      }
    }
  }
}

TEST(Executor, ShapeArithmeticIsDoneBeforeTheRun) {
  ModelBuilder builder;
  builder.input("x", {2, 6, 4, 4})
      .constant<int64_t>("first", {}, {0})
      .constant<int64_t>("rest", {1}, {-1})
      .constant<int64_t>("zero", {1}, {0});
  builder.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "first"}, {"n"}).node("Unsqueeze", {"n", "zero"}, {"n1"});
  builder.node("Concat", {"n1", "rest"}, {"target"}).integer("axis", 0).node("Reshape", {"x", "target"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({2, 6, 4, 4}, std::vector<float>(192, 1))}});
    EXPECT_EQ(result.outputs[0].dims(), (Dims{2, 96}));
    EXPECT_EQ(result.info.steps.size(), 1U) << to_string(mode);
  }
}

TEST(Executor, ObserveSeesEveryNodeAsWritten) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 2, 2}).node("Relu", {"x"}, {"a"}).node("Flatten", {"a"}, {"b"}).node("Add", {"b", "b"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : {Mode::as_written, Mode::reference}) {
    std::map<std::string, std::vector<float>> seen;
    ExecuteOptions options;
    options.mode = mode;
    options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
      ASSERT_EQ(outputs.size(), 1U);
      seen[node.op_type()] = values_of(outputs[0].tensor);
    };
    Executor executor(model->graph(), options);
    (void)executor.run({{"x", tensor_of({1, 2, 2, 2}, {1, -1, 2, -2, 3, -3, 4, -4})}});
    EXPECT_EQ(seen["Relu"], (std::vector<float>{1, 0, 2, 0, 3, 0, 4, 0}));
    EXPECT_EQ(seen["Flatten"], seen["Relu"]);
    EXPECT_EQ(seen["Add"], (std::vector<float>{2, 0, 4, 0, 6, 0, 8, 0}));
  }
}

TEST(Executor, NodesThatAreLeftOutGetTheirValuesFromTheObserver) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 2, 2}).constant("w", {3, 2, 1, 1}, std::vector<float>(6, 1)).node("Conv", {"x", "w"}, {"a"});
  builder.node("Relu", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}).node("Exp", {"y"}, {"z"}).output("y").output("z");
  const auto model = builder.build();
  for (const Mode mode : {Mode::as_written, Mode::reference}) {
    std::map<std::string, Dims> seen;
    ExecuteOptions options;
    options.mode = mode;
    options.leave_out = [](const Node& node) { return node.op_type() != "Neg"; };
    options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
      seen[node.op_type()] = outputs[0].tensor.dims();
      if (node.is("Relu")) std::ranges::fill_n(outputs[0].tensor.data<float>(), 12, 7.0F);
    };
    Executor executor(model->graph(), options);
    const Outputs outputs = executor.run({{"x", tensor_of({1, 2, 2, 2}, std::vector<float>(8, 1))}});
    EXPECT_EQ(values_of(outputs[0].tensor), std::vector<float>(12, -7)) << to_string(mode);
    EXPECT_EQ(seen["Conv"], (Dims{1, 3, 2, 2}));
    EXPECT_EQ(seen["Exp"], (Dims{1, 3, 2, 2}));
    std::vector<std::string> run;
    for (const StepInfo& step : executor.plan_info().steps) {
      if (step.implementation != "left out") run.push_back(step.op_type);
    }
    EXPECT_EQ(run, std::vector<std::string>{"Neg"});
  }
}

TEST(Executor, NodesRunAllTheSameWhereShapesDependOnData) {
  ModelBuilder builder;
  builder.input("x", {4}).node("Relu", {"x"}, {"a"}).node("NonZero", {"a"}, {"b"}).node("Cast", {"b"}, {"c"}).integer("to", 1).output("c");
  const auto model = builder.build();
  ExecuteOptions options;
  options.mode = Mode::as_written;
  options.leave_out = [](const Node& node) { return node.is("Relu"); };
  options.observe = [](const Node&, const std::vector<Datum>&) {};
  Executor executor(model->graph(), options);
  EXPECT_EQ(values_of(executor.run({{"x", tensor_of({4}, {1, -1, 2, 0})}})[0].tensor), (std::vector<float>{0, 2}));
}

TEST(Executor, ObserversWriteOverOneValueAlone) {
  // Identity, Reshape, Transpose and Slice could all be views of the Add's operand.
  for (const std::string op : {"Identity", "Flatten", "Reshape", "Transpose", "Slice"}) {
    ModelBuilder builder;
    builder.input("x", {1, 4}).node("Relu", {"x"}, {"a"});
    builder.constant<int64_t>("dims", {2}, {1, 4}).constant<int64_t>("start", {1}, {0}).constant<int64_t>("end", {1}, {9});
    if (op == "Reshape") {
      builder.node(op, {"a", "dims"}, {"b"});
    } else if (op == "Slice") {
      builder.node(op, {"a", "start", "end"}, {"b"});
    } else {
      builder.node(op, {"a"}, {"b"});
      if (op == "Transpose") builder.integers("perm", {0, 1});
    }
    builder.node("Add", {"a", "b"}, {"y"}).output("y");
    const auto model = builder.build();
    for (const Mode mode : kModes) {
      ExecuteOptions options;
      options.mode = mode;
      options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
        if (node.op_type() == op) std::ranges::fill_n(outputs[0].tensor.data<float>(), 4, 100.0F);
      };
      Executor executor(model->graph(), options);
      EXPECT_EQ(values_of(executor.run({{"x", tensor_of({1, 4}, {1, -1, 2, 3})}})[0].tensor), (std::vector<float>{101, 100, 102, 103}))
          << op << " " << to_string(mode);
    }
  }
}

TEST(Executor, EditsConstants) {
  ModelBuilder builder;
  builder.input("x", {1, 1, 1, 2}).constant("w", {1, 1, 1, 1}, std::vector<float>{3}).node("Conv", {"x", "w"}, {"c"});
  builder.constant("k", {2}, std::vector<float>{10, 20}).node("Add", {"c", "k"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    ExecuteOptions options;
    options.mode = mode;
    options.edit_constant = [](const std::string& name, Tensor& tensor) {
      if (name == "w") tensor.data<float>()[0] = 5;
      if (name == "k") tensor.data<float>()[1] = 200;
    };
    Executor executor(model->graph(), options);
    EXPECT_EQ(values_of(executor.run({{"x", tensor_of({1, 1, 1, 2}, {1, 2})}})[0].tensor), (std::vector<float>{15, 210}));
    EXPECT_EQ(values_of(run_in(mode, *model, {{"x", tensor_of({1, 1, 1, 2}, {1, 2})}}).outputs[0]), (std::vector<float>{13, 26}));
  }
}

ErrorKind kind_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::defect;
}

TEST(Executor, InvalidInputsAreRefusedByName) {
  ModelBuilder builder;
  builder.input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y");
  const auto model = builder.build();
  Executor executor(model->graph(), {});
  std::string message;
  EXPECT_EQ(kind_of([&] { (void)executor.run({}); }, &message), ErrorKind::invalid);
  EXPECT_NE(message.find("'x'"), std::string::npos);
  EXPECT_EQ(kind_of([&] { (void)executor.run({{"x", Tensor(DataType::int64, {1, 2})}}); }), ErrorKind::invalid);
  EXPECT_EQ(kind_of([&] { (void)executor.run({{"x", tensor_of({2}, {1, 2})}}); }), ErrorKind::invalid);
  EXPECT_EQ(kind_of([&] { (void)executor.run({{"x", tensor_of({1, 2}, {1, 2})}, {"z", tensor_of({1}, {1})}}); }, &message),
            ErrorKind::usage);
  EXPECT_NE(message.find("'z'"), std::string::npos);
}

TEST(Executor, ListsAllUnsupportedNodesBeforeAnythingRuns) {
  ModelBuilder builder;
  builder.input("x", {1, 2});
  for (int i = 0; i < 5; ++i) builder.node("NoSuchOperator", {"x"}, {"y" + std::to_string(i)}).output("y" + std::to_string(i));
  builder.node("NoSuchOperator", {"x"}, {"unread"});
  const auto model = builder.build();
  EXPECT_EQ(Executor::unsupported(model->graph()).size(), 5U);
  std::string message;
  EXPECT_EQ(kind_of([&] { Executor executor(model->graph(), {}); }, &message), ErrorKind::unsupported);
  EXPECT_EQ(
      message,
      "cannot run 5 nodes: 'NoSuchOperator_1' (NoSuchOperator: unknown operator), 'NoSuchOperator_2' (NoSuchOperator: unknown operator), "
      "'NoSuchOperator_3' (NoSuchOperator: unknown operator) and 2 more");
}

TEST(Executor, OperandsThatDoNotFitNameTheNode) {
  ModelBuilder builder;
  builder.input("x", {-1, 2}).constant("k", {3}, std::vector<float>{1, 2, 3}).node("Add", {"x", "k"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    std::string message;
    EXPECT_EQ(kind_of([&] { (void)run_in(mode, *model, {{"x", tensor_of({1, 2}, {1, 2})}}); }, &message), ErrorKind::invalid);
    EXPECT_NE(message.find("Add_1"), std::string::npos) << message;
  }
}

/// ONNX Runtime refuses such files when it loads them: "Type Error: …".
TEST(Executor, OperandsOfTwoTypesWhereOneIsRequiredAreRefused) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {{"Add", {"half", "x"}},
                                                                               {"Concat", {"half", "x"}},
                                                                               {"LayerNormalization", {"half", "x"}},
                                                                               {"InstanceNormalization", {"half", "x", "x"}},
                                                                               {"BatchNormalization", {"half", "half", "x", "x", "x"}},
                                                                               {"PRelu", {"half", "x"}}};
  for (const auto& [op, operands] : cases) {
    ModelBuilder builder;
    builder.input("x", {2}).node("Cast", {"x"}, {"half"}).integer("to", static_cast<int64_t>(DataType::float16));
    builder.node(op, operands, {"y"}).output("y");
    if (op == "Concat") builder.integer("axis", 0);
    const auto model = builder.build();
    for (const Mode mode : kModes) {
      std::string message;
      EXPECT_EQ(kind_of([&] { (void)run_in(mode, *model, {{"x", tensor_of({2}, {1, 2})}}); }, &message), ErrorKind::invalid) << op;
      EXPECT_EQ(message, "node '" + op + "_2' (" + op + "): operands 'half' (f16) and 'x' (f32) are of two types where it takes one");
    }
  }
}

TEST(Executor, ResultsOfAnotherTypeThanTheFileDeclaresAreRefused) {
  constexpr auto kHalf = DataType::float16, kSingle = DataType::float32;
  // ONNX Runtime takes the last of several declarations.
  const std::vector<std::vector<DataType>> declarations = {{kHalf}, {kSingle, kHalf}, {kSingle}, {kHalf, kSingle}};
  for (const std::vector<DataType>& types : declarations) {
    ModelBuilder builder;
    builder.input("x", {2}).node("Cast", {"x"}, {"half"}).integer("to", static_cast<int64_t>(DataType::float16));
    builder.node("Neg", {"half"}, {"y"}).output("y");
    for (const DataType type : types) {
      auto& declared = *builder.message().mutable_graph()->add_value_info();
      declared.set_name("half");
      declared.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
    }
    const auto model = builder.build();
    const auto run = [&] { (void)run_in(Mode::as_written, *model, {{"x", tensor_of({2}, {1, 2})}}); };
    if (types.back() == kHalf) {
      EXPECT_NO_THROW(run());
      continue;
    }
    std::string message;
    EXPECT_EQ(kind_of(run, &message), ErrorKind::invalid);
    EXPECT_EQ(message, "node 'Cast_1' (Cast): its result 'half' is f16, the file declares f32");
  }
}

/// The cost is linear in the number of nodes: quadratic steps anywhere would take minutes. The chain is one of functions, or many short
/// ones.
TEST(Executor, HundredThousandNodes) {
  for (const char* const third : {"Identity", "Tanh"}) {
    ModelBuilder builder;
    builder.input("x", {2, 3});
    std::string last = "x";
    for (int i = 0; i < kMany; ++i) {
      const std::string next = "v" + std::to_string(i);
      builder.node(i % 3 == 0 ? "Relu" : i % 3 == 1 ? "Sigmoid" : third, {last}, {next});
      last = next;
    }
    builder.output(last);
    const auto model = builder.build();
    for (const Mode mode : kModes)
      EXPECT_EQ(run_in(mode, *model, {{"x", tensor_of({2, 3}, {1, 2, 3, 4, 5, 6})}}).outputs[0].dims(), (Dims{2, 3}));
  }
}

TEST(Executor, OutputsThatAreInputsAndConstants) {
  ModelBuilder builder;
  builder.input("x", {2}).constant("k", {2}, std::vector<float>{5, 6}).node("Identity", {"x"}, {"i"}).node("Identity", {"k"}, {"c"});
  builder.output("x").output("k").output("i").output("c");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({2}, {1, 2})}});
    const std::vector<std::vector<float>> wanted = {{1, 2}, {5, 6}, {1, 2}, {5, 6}};
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(values_of(result.outputs[i]), wanted[i]);
  }
}

TEST(Outputs, FirstMayBeAbsent) {
  ModelBuilder builder;
  builder.input("x", {1, 1, 2, 4}).node("MaxPool", {"x"}, {"", "at"}).integers("kernel_shape", {2, 2}).integers("strides", {2, 2});
  builder.output("at");
  const auto model = builder.build();
  for (const Mode mode : kModes) {
    const RunResult result = run_in(mode, *model, {{"x", tensor_of({1, 1, 2, 4}, {1, 2, 3, 9, 5, 4, 7, 8})}});
    const auto* const at = result.outputs[0].data<int64_t>();
    EXPECT_EQ((std::vector<int64_t>{at[0], at[1]}), (std::vector<int64_t>{4, 3})) << to_string(mode);
  }
}

/// oneDNN copies operands that it cannot read contiguous, and takes longer to copy an image or a product's operand than to compute with it.
TEST(PlanInfo, ContiguousConvolutionsAreNotCopiedInsideTheLibrary) {
  ModelBuilder builder;
  builder.input("x", {1, 3, 32, 32})
      .constant("stem", {8, 3, 3, 3}, std::vector<float>(216, 0.5F))
      .constant("point", {16, 8, 1, 1}, std::vector<float>(128, 0.5F));
  builder.node("Conv", {"x", "stem"}, {"a"}).node("Relu", {"a"}, {"b"});
  builder.node("Conv", {"b", "point"}, {"c"}).node("HardSwish", {"c"}, {"y"}).output("y");
  const auto model = builder.build();
  ExecuteOptions options;
  options.layout = LayoutChoice::never;
  Executor executor(model->graph(), options);
  (void)executor.run({{"x", tensor_of({1, 3, 32, 32}, std::vector<float>(3072, 0.5F))}});
  for (const StepInfo& step : executor.plan_info().steps) {
    EXPECT_EQ(step.implementation.find("ncsp_convolution:conv"), std::string::npos) << step.node << " " << step.implementation;
  }
}

/// Groups of one channel with several outputs are convolutions of repeated channels, for which oneDNN has a kernel in every instruction
/// set.
TEST(PlanInfo, RepeatedChannelsAreConvolvedOneByOne) {
  ModelBuilder builder;
  builder.input("x", {1, 24, 14, 14}).constant("w", {48, 1, 3, 3}, std::vector<float>(432, 0.5F));
  builder.node("Conv", {"x", "w"}, {"y"}).integer("group", 24).output("y");
  const auto model = builder.build();
  const RunResult result = run_in(Mode::optimized, *model, {{"x", tensor_of({1, 24, 14, 14}, std::vector<float>(4704, 0.5F))}});
  const auto uses = [&](const char* name) {
    return std::ranges::any_of(result.info.steps,
                               [&](const StepInfo& step) { return step.implementation.find(name) != std::string::npos; });
  };
  EXPECT_TRUE(uses("dw") || uses("dgmm"));
  EXPECT_EQ(result.info.macs, 48 * 144 * 9);
}

/// From AVX2 on oneDNN has blocks of constant weights for products of several rows; its first choice without AVX-512 has none.
TEST(PlanInfo, ProductsOfSeveralRowsRunByBlocks) {
  if (instruction_set() == InstructionSet::sse41) GTEST_SKIP() << "SKIPPED: no blocks with SSE4.1";
  for (const int64_t rows : {2, 16, 197}) {
    ModelBuilder builder;
    builder.input("x", {rows, 48})
        .constant("w", {48, 96}, std::vector<float>(4608, 0.5F))
        .constant("b", {96}, std::vector<float>(96, 1.0F));
    builder.node("MatMul", {"x", "w"}, {"m"}).node("Gemm", {"x", "w", "b"}, {"g"}).output("m").output("g");
    const auto model = builder.build();
    const Tensor x = tensor_of({rows, 48}, std::vector<float>(static_cast<std::size_t>(rows) * 48, 0.5F));
    const RunResult result = run_in(Mode::optimized, *model, {{"x", x}});
    for (const StepInfo& step : result.info.steps) {
      if (step.macs == 0) continue;
      EXPECT_THAT(step.implementation, testing::StartsWith("brg_matmul")) << rows << " " << step.node;
    }
  }
}

TEST(PlanInfo, MultiplyAccumulatesOfEveryTypeAndMode) {
  for (const char* const type : {"float", "float16", "bfloat16", "double"}) {
    const std::string of(type);
    const auto model = Model::from_text("<ir_version: 8, opset_import: [\"\": 17]>\ng (" + of + "[1,4,8,8] x, " + of + "[8,2,3,3] w, " +
                                        of + "[8,5] v) => (" + of + "[1,6,6,5] y) {\n" +
                                        "c = Conv <group = 2> (x, w)\nt = Transpose <perm = [0, 2, 3, 1]> (c)\ny = MatMul (t, v)\n}");
    for (const Mode mode : kModes) {
      ExecuteOptions options;
      options.mode = mode;
      Executor executor(model->graph(), options);
      Inputs inputs;
      const DataType element = model->graph().inputs()[0]->declared()->type;
      for (const auto& [name, dims] : std::map<std::string, Dims>{{"x", {1, 4, 8, 8}}, {"w", {8, 2, 3, 3}}, {"v", {8, 5}}}) {
        Tensor zeros(element, dims);
        std::fill_n(zeros.bytes(), zeros.element_count() * element_stride(element), std::byte{0});
        inputs.emplace(name, zeros);
      }
      (void)executor.run(inputs);
      EXPECT_EQ(executor.plan_info().macs, 8 * 36 * 2 * 9 + 36 * 8 * 5) << type << " " << to_string(mode);
    }
  }
}

}  // namespace
}  // namespace relayout::test
