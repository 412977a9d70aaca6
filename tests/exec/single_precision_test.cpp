// Tests nodes of 16-bit numbers that run in single precision between Casts: results, what observers see, and the names of the steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// Numbers between −1 and 1 that 16 bits hold.
Tensor numbers(DataType type, const Dims& dims) {
  Tensor out(type, dims);
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const double value = static_cast<double>((i * 37) % 65 - 32) / 32;
    store(type, out.bytes() + i * element_stride(type), 1, 1, &value);
  }
  return out;
}

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> out(static_cast<std::size_t>(dense.element_count()));
  load<double>(dense.type(), dense.bytes(), 1, dense.element_count(), out.data());
  return out;
}

struct Case {
  std::string type, body;
  Dims x, w;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const std::string type : {"float16", "bfloat16"}) {
    out.push_back({type, "y = MatMul (x, w)", {3, 40}, {40, 5}});
    out.push_back({type, "y = Gemm <transB = 1> (x, w)", {3, 40}, {5, 40}});
  }
  out.push_back({"float16", "y = Conv (x, w)", {1, 8, 6, 6}, {4, 8, 3, 3}});
  out.push_back({"float16", "y = Conv <group = 8> (x, w)", {1, 8, 6, 6}, {8, 1, 3, 3}});
  out.push_back({"float16", "y = ConvTranspose (x, w)", {1, 8, 4, 4}, {8, 2, 2, 2}});
  out.push_back({"float16", "p = Add (x, w)  y = Softmax <axis = 1> (p)", {3, 40}, {1, 40}});
  out.push_back({"float16", "p = Add (x, w)  y = AveragePool <kernel_shape = [2, 2]> (p)", {1, 2, 6, 6}, {1, 2, 1, 1}});
  return out;
}

TextModel model_of(const Case& one) {
  const auto dims = [](const Dims& given) {
    std::string out;
    for (const int64_t dim : given) out += (out.empty() ? "" : ", ") + std::to_string(dim);
    return out;
  };
  return TextModel("net (" + one.type + "[" + dims(one.x) + "] x, " + one.type + "[" + dims(one.w) + "] w) => (" + one.type + "[] y) { " +
                       one.body + " }",
                   R"(<ir_version: 10, opset_import: ["" : 22]>)");
}

TEST(SinglePrecision, ResultsAreThoseOfDoublePrecisionRoundedOnce) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.type + ": " + one.body);
    const auto model = model_of(one).load();
    const DataType type = one.type == "float16" ? DataType::float16 : DataType::bfloat16;
    const Inputs inputs{{"x", numbers(type, one.x)}, {"w", numbers(type, one.w)}};
    std::map<Mode, std::vector<double>> results;
    for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
      ExecuteOptions options;
      options.mode = mode;
      const Outputs outputs = Executor(model->graph(), options).run(inputs);
      EXPECT_EQ(outputs[0].tensor.type(), mode == Mode::reference ? outputs[0].tensor.type() : type);
      results[mode] = values_of(outputs[0].tensor);
    }
    const double ulp = type == DataType::float16 ? std::ldexp(1, -11) : std::ldexp(1, -8);  // half the distance of neighbours, relative
    for (const Mode mode : {Mode::as_written, Mode::optimized}) {
      for (std::size_t i = 0; i < results[mode].size(); ++i) {
        const double right = results[Mode::reference][i];
        EXPECT_NEAR(results[mode][i], right, std::abs(right) * ulp * 2.01 + 1e-6) << to_string(mode) << " element " << i;
      }
    }
  }
}

/// Nodes in a row, one value read twice, results that are read and given out, and moved elements. Sums of such numbers are exact in single
/// precision, so that only the roundings of the file are left.
TEST(SinglePrecision, ChainsRoundWhereTheFileSays) {
  const std::string bodies[] = {
      "p = MatMul (x, w)  q = Mul (p, p)  r = Relu (q)  y = Add (r, p)",
      "p = MatMul (x, w)  q = Neg (p)  z = Transpose <perm = [1, 0]> (q)  r = MatMul (w, q)  s = Mul (r, r)  y = Sub (s, r)",
      "p = MatMul (x, w)  z = Concat <axis = 1> (p, p)  q = Sqrt (p)  r = Abs (p)  y = Div (r, p)",
      "p = Mul (x, x)  q = MatMul (p, w)  y = Mul (q, q)  z = Reshape <allowzero = 0> (y, dims)",
      "p = Add (x, x)  c = Less (p, x)  q = MatMul (p, w)  r = Where (c, p, x)  z = MatMul (r, w)  y = Max (z, q)",
  };
  for (const std::string type : {"float16", "bfloat16"}) {
    for (const std::string& body : bodies) {
      SCOPED_TRACE(type + ": " + body);
      const bool has_z = body.find("z =") != std::string::npos;
      const std::string head = "net (" + type + "[6, 6] x, " + type + "[6, 6] w, int64[2] dims) => (" + type + "[a, b] y" +
                               (has_z ? ", " + type + "[c, d] z" : "") + ") { ";
      const auto model = TextModel(head + body + " }", R"(<ir_version: 10, opset_import: ["" : 22]>)").load();
      const DataType half = type == "float16" ? DataType::float16 : DataType::bfloat16;
      Tensor dims(DataType::int64, {2});
      dims.data<int64_t>()[0] = 4, dims.data<int64_t>()[1] = 9;
      const Inputs inputs{{"x", numbers(half, {6, 6})}, {"w", numbers(half, {6, 6})}, {"dims", Datum(dims)}};
      std::map<Mode, std::vector<std::vector<double>>> results;
      for (const Mode mode : {Mode::as_written, Mode::optimized}) {
        ExecuteOptions options;
        options.mode = mode;
        for (const Datum& output : Executor(model->graph(), options).run(inputs)) {
          EXPECT_EQ(output.tensor.type(), half);
          results[mode].push_back(values_of(output.tensor));
        }
      }
      for (std::size_t k = 0; k < results[Mode::optimized].size(); ++k) {
        EXPECT_THAT(results[Mode::optimized][k], testing::Pointwise(testing::NanSensitiveDoubleEq(), results[Mode::as_written][k])) << k;
      }
    }
  }
}

TEST(SinglePrecision, ObserversSeeTheNodesOfTheFileAlone) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.type + ": " + one.body);
    const auto model = model_of(one).load();
    const DataType type = one.type == "float16" ? DataType::float16 : DataType::bfloat16;
    std::set<const Node*> nodes, seen;
    for (const Node& node : model->graph().nodes()) nodes.insert(&node);
    ExecuteOptions options;
    options.mode = Mode::as_written;
    options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
      EXPECT_TRUE(seen.insert(&node).second) << node.label();
      EXPECT_EQ(outputs[0].tensor.type(), type);
    };
    Executor executor(model->graph(), options);
    (void)executor.run({{"x", numbers(type, one.x)}, {"w", numbers(type, one.w)}});
    EXPECT_EQ(seen, nodes);
    for (const StepInfo& step : executor.plan_info().steps) {
      EXPECT_TRUE(step.callers.empty()) << step.node;
      EXPECT_TRUE(step.node == "y" || step.node == "p") << step.node;
    }
  }
}

TEST(SinglePrecision, ANodeThatIsLeftOutGetsItsValueFromTheObserver) {
  const Case one{"float16", "p = MatMul (x, w)  y = Neg (p)", {1, 4}, {4, 2}};
  const auto model = model_of(one).load();
  ExecuteOptions options;
  options.mode = Mode::as_written;
  options.leave_out = [](const Node& node) { return node.is("MatMul"); };
  options.observe = [](const Node& node, const std::vector<Datum>& outputs) {
    if (!node.is("MatMul")) return;
    const double value = 3;
    for (std::size_t i = 0; i < 2; ++i) store(DataType::float16, outputs[0].tensor.bytes() + 2 * i, 1, 1, &value);
  };
  Executor executor(model->graph(), options);
  const Outputs outputs = executor.run({{"x", numbers(DataType::float16, one.x)}, {"w", numbers(DataType::float16, one.w)}});
  EXPECT_EQ(values_of(outputs[0].tensor), (std::vector<double>{-3, -3}));
  for (const StepInfo& step : executor.plan_info().steps) {
    EXPECT_EQ(step.implementation == "left out", step.node == "p") << step.node;
  }
}

}  // namespace
}  // namespace relayout::test
