// Tests the rules for partly known dims: dims that they call certain must equal the kernels' results, whatever the hidden ones are.

#include "ops/partial_dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/node.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

/// Operands given as tensors, with some dims of the first one hidden. Contents of the others are known.
class Hidden : public PartialOperands {
 public:
  Hidden(const std::vector<Tensor>& data, PartialDims first) : data_(data), first_(std::move(first)) {}
  bool has(std::size_t input) override { return input < data_.size() && static_cast<bool>(data_[input]); }
  PartialDims dims(std::size_t input) override {
    if (!has(input)) return std::nullopt;
    return input == 0 ? first_ : PartialDims(data_[input].dims());
  }
  DataType type(std::size_t input) override { return data_[input].type(); }
  std::optional<PartialContents> contents(std::size_t input) override {
    return input == 0 ? std::nullopt : std::optional<PartialContents>(data_[input]);
  }

 private:
  const std::vector<Tensor>& data_;
  PartialDims first_;
};

/// "", or how the dims claimed as certain differ.
std::string contradiction(const PartialDims& said, const Dims& made) {
  if (!said) return {};
  if (said->size() != made.size()) return to_string(*said) + " against " + to_string(made);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if ((*said)[i] >= 0 && (*said)[i] != made[i]) return to_string(*said) + " against " + to_string(made);
  }
  return {};
}

TEST(PartialDims, CertainDimsAreThoseOfTheResult) {
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.name);
    const std::vector<Tensor> data = data_of(op_case);
    if (data.empty() || !data[0]) continue;
    const auto model = model_of(op_case);
    const Node& node = model->graph().nodes().front();
    const std::vector<Datum> inputs(data.begin(), data.end());
    std::vector<const Datum*> pointers;
    for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
    const std::vector<Datum> made = run_node(node, pointers);
    const std::size_t rank = data[0].dims().size();
    const std::size_t patterns = std::size_t{1} << rank;
    for (std::size_t pattern = 0; pattern <= patterns; ++pattern) {
      PartialDims first = data[0].dims();
      for (std::size_t i = 0; i < rank; ++i) {
        if ((pattern >> i & 1U) != 0) (*first)[i] = -1;
      }
      if (pattern == patterns) first.reset();
      Hidden operands(data, first);
      for (std::size_t k = 0; k < made.size(); ++k) {
        if (made[k].kind != Datum::Kind::tensor) continue;
        const PartialDims said = partial_dims(OpCall(node, node.opset()), k, operands);
        EXPECT_EQ(contradiction(said, made[k].tensor.dims()), "") << "output " << k << ", pattern " << pattern;
      }
    }
  }
}

struct Expected {
  std::string node;  ///< with its operands x0, x1 …
  std::vector<PartialDims> dims;
  std::vector<std::vector<int64_t>> contents;  ///< of the operands from the second on, where they are constant
  std::string made;                            ///< "[…]", or "?" for nothing
};

/// Operands of which only dims and small contents are known.
class Given : public PartialOperands {
 public:
  explicit Given(const Expected& expected) : expected_(expected) {}
  bool has(std::size_t input) override { return input < expected_.dims.size(); }
  PartialDims dims(std::size_t input) override { return has(input) ? expected_.dims[input] : std::nullopt; }
  DataType type(std::size_t input) override { return contents(input) ? DataType::int64 : DataType::float32; }
  std::optional<PartialContents> contents(std::size_t input) override {
    if (input == 0 || input > expected_.contents.size() || expected_.contents[input - 1].empty()) return std::nullopt;
    const auto& numbers = expected_.contents[input - 1];
    return tensor_of_values(DataType::int64, {static_cast<int64_t>(numbers.size())}, {numbers.begin(), numbers.end()});
  }

 private:
  const Expected& expected_;
};

TEST(PartialDims, DimsKnownWithoutTheBatch) {
  const PartialDims x = Dims{-1, 3, 32, 20};
  const std::vector<Expected> all = {
      {"Abs (x0)", {x}, {}, "[-1, 3, 32, 20]"},
      {"Atan (x0)", {x}, {}, "[-1, 3, 32, 20]"},
      {"DequantizeLinear (x0, x1)", {x, Dims{}}, {}, "[-1, 3, 32, 20]"},
      {"ReverseSequence (x0, x1)", {x, Dims{-1}}, {}, "[-1, 3, 32, 20]"},
      {"Add (x0, x1)", {x, Dims{3, 1, 1}}, {}, "[-1, 3, 32, 20]"},
      {"Mod (x0, x1)", {x, Dims{4, 1, 1, 1}}, {}, "[4, 3, 32, 20]"},
      {"Less (x0, x1)", {x, Dims{-1, 1, 1, 1}}, {}, "[-1, 3, 32, 20]"},
      {"Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x0, x1)", {x, Dims{8, 3, 3, 3}}, {}, "[-1, 8, 16, 10]"},
      {"Conv <auto_pad = \"SAME_UPPER\", strides = [3, 3]> (x0, x1)", {Dims{-1, -1, 32, -1}, Dims{8, 3, 3, 3}}, {}, "[-1, 8, 11, -1]"},
      {"Conv (x0, x1)", {std::nullopt, Dims{8, 3, 3, 3}}, {}, "[-1, 8, -1, -1]"},
      {"Conv <group = 3> (x0, x1)", {x, Dims{-1, 1, 3, 3}}, {}, "[-1, -1, -1, -1]"},
      {"ConvTranspose <strides = [2, 2]> (x0, x1)", {x, Dims{3, 5, 2, 2}}, {}, "[-1, 5, 64, 40]"},
      {"MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x0)", {x}, {}, "[-1, 3, 16, 10]"},
      {"AveragePool <kernel_shape = [2, 2]> (x0)", {Dims{2, -1, -1, 20}}, {}, "[2, -1, -1, 19]"},
      {"GlobalAveragePool (x0)", {Dims{-1, 7, -1, -1}}, {}, "[-1, 7, 1, 1]"},
      {"Pad (x0, x1)", {x, Dims{8}}, {{1, 0, 2, 0, 0, 0, 3, -1}}, "[-1, 3, 37, 19]"},
      {"Pad (x0, x1)", {x, Dims{8}}, {}, "[-1, -1, -1, -1]"},
      {"Flatten (x0)", {x}, {}, "[-1, 1920]"},
      {"Flatten <axis = -1> (x0)", {x}, {}, "[-1, 20]"},
      {"Reshape (x0, x1)", {x, Dims{3}}, {{0, -1, 20}}, "[-1, -1, 20]"},
      {"Reshape (x0, x1)", {x, Dims{3}}, {{-1, 96, 20}}, "[-1, 96, 20]"},
      {"Reshape (x0, x1)", {x, Dims{2}}, {}, "[-1, -1]"},
      {"Squeeze (x0, x1)", {Dims{-1, 3, 1, 1}, Dims{2}}, {{-1, 2}}, "[-1, 3]"},
      {"Squeeze (x0)", {Dims{-1, 3, 1, 1}}, {}, "?"},
      {"Unsqueeze (x0, x1)", {Dims{-1, 3}, Dims{2}}, {{0, -1}}, "[1, -1, 3, 1]"},
      {"Unsqueeze (x0, x1)", {Dims{-1, 3}, Dims{2}}, {{1, 1}}, "?"},
      {"Transpose <perm = [2, 0, 1, 3]> (x0)", {x}, {}, "[32, -1, 3, 20]"},
      {"Transpose (x0)", {x}, {}, "[20, 32, 3, -1]"},
      {"Concat <axis = 1> (x0, x1)", {x, Dims{4, 5, -1, 20}}, {}, "[4, 8, 32, 20]"},
      {"Gemm <transB = 1> (x0, x1)", {Dims{-1, 3}, Dims{7, 3}}, {}, "[-1, 7]"},
      {"MatMul (x0, x1)", {Dims{-1, 5, 4, 3}, Dims{3, 7}}, {}, "[-1, 5, 4, 7]"},
      {"Einsum <equation = \"bij, jk->bik\"> (x0, x1)", {Dims{2, -1, 8}, Dims{8, 7}}, {}, "[2, -1, 7]"},
      {"Einsum <equation = \"ij->ji\"> (x0)", {std::nullopt}, {}, "[-1, -1]"},
      {"Einsum <equation = \"...ij->...ji\"> (x0)", {x}, {}, "?"},
      {"Resize (x0, , x1)", {x, std::nullopt}, {}, "[-1, -1, -1, -1]"},
      {"ReduceMean <axes = [-1, 1]> (x0)", {x}, {}, "[-1, 1, 32, 1]"},
      {"ReduceMean <axes = [2], keepdims = 0> (x0)", {x}, {}, "[-1, 3, 20]"},
      {"ReduceSum (x0, x1)", {x, Dims{1}}, {{3}}, "[-1, 3, 32, 1]"},
      {"ReduceSum (x0, x1)", {x, Dims{1}}, {}, "[-1, -1, -1, -1]"},
      {"ReduceSum <keepdims = 0> (x0, x1)", {x, Dims{1}}, {}, "?"},
      {"ReduceSum <keepdims = 0> (x0)", {x}, {}, "[]"},
      {"ReduceSum <noop_with_empty_axes = 1> (x0)", {x}, {}, "[-1, 3, 32, 20]"},
      {"ReduceMean <noop_with_empty_axes = 1, keepdims = 0> (x0)", {x}, {}, "[]"},  // the attribute exists from opset 18 on
      {"Gather <axis = 1> (x0, x1)", {x, Dims{-1, 7}}, {}, "[-1, -1, 7, 32, 20]"},
      {"Gather <axis = -1> (x0, x1)", {x, Dims{}}, {}, "[-1, 3, 32]"},
      {"GatherElements <axis = 1> (x0, x1)", {std::nullopt, Dims{-1, 7}}, {}, "[-1, 7]"},
      {"Expand (x0, x1)", {x, Dims{5}}, {}, "[-1, -1, 3, 32, 20]"},
      {"Expand (x0, x1)", {x, Dims{-1}}, {}, "?"},
      {"ConstantOfShape (x0)", {Dims{-1}}, {}, "?"},
      {"Shape (x0)", {x}, {}, "[4]"},
      {"Shape <start = 1, end = -1> (x0)", {x}, {}, "[2]"},
      {"Shape (x0)", {std::nullopt}, {}, "[-1]"},
      {"Slice (x0, x1, x2)", {x, Dims{1}, Dims{1}}, {{0}, {1}}, "[-1, 3, 32, 20]"},
      {"Slice (x0, x1, x2, x3)", {x, Dims{1}, Dims{1}, Dims{1}}, {{1}, {-1}, {3}}, "[-1, 3, 32, 18]"},
      {"Slice (x0, x1, x2)", {Dims{4, 3, 32, 20}, Dims{2}, Dims{2}}, {}, "[-1, -1, 32, 20]"},
      {"Slice (x0, x1, x2, x3)", {x, Dims{1}, Dims{1}, Dims{1}}, {{}, {}, {-1}}, "[-1, 3, 32, -1]"},
      {"Slice (x0, x1, x2, x3)", {x, Dims{1}, Dims{1}, Dims{1}}, {}, "[-1, -1, -1, -1]"},
      {"Slice (x0, x1, x2)", {x, Dims{-1}, Dims{-1}}, {}, "[-1, -1, -1, -1]"},
      {"Range (x0, x1, x2)", {Dims{}, Dims{}, Dims{}}, {}, "[-1]"},
      {"MatMulInteger (x0, x1)", {Dims{-1, 5, 4, 3}, Dims{3, 7}}, {}, "[-1, 5, 4, 7]"},
      {"LSTM <hidden_size = 6> (x0, x1, x2)", {Dims{-1, 2, 9}, Dims{1, 24, 9}, Dims{1, 24, 6}}, {}, "[-1, 1, 2, 6]"},
      {"GRU <hidden_size = 6, layout = 1> (x0, x1, x2)", {Dims{-1, 5, 9}, Dims{2, 18, 9}, Dims{2, 18, 6}}, {}, "[-1, 5, 2, 6]"},
      {"Split <axis = 3> (x0, x1)", {x, Dims{1}}, {{20}}, "[-1, 3, 32, 20]"},
      {"Split (x0, x1)", {x, Dims{1}}, {{20}}, "[-1, -1, -1, -1]"},
      {"Gather <axis = -1> (x0, x1)", {x, Dims{5, -1}}, {}, "[-1, 3, 32, 5, -1]"},
      {"Gather (x0, x1)", {x, Dims{}}, {}, "[3, 32, 20]"},
      {"Expand (x0, x1)", {Dims{-1, 1, 4}, Dims{4}}, {{5, 2, 7, 1}}, "[5, 2, 7, 4]"},
      {"Shape <start = 1> (x0)", {x}, {}, "[3]"},
      {"ConstantOfShape (x0)", {Dims{3}}, {}, "[-1, -1, -1]"},
  };
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.node);
    std::string operands;
    for (std::size_t i = 0; i < expected.dims.size(); ++i) operands += (i == 0 ? "float x" : ", float x") + std::to_string(i);
    const auto model =
        Model::from_text("<ir_version: 10, opset_import: [\"\": 17]>\ng (" + operands + ") => (float y) { y = " + expected.node + " }");
    const Node& node = model->graph().nodes().front();
    Given given(expected);
    const PartialDims made = partial_dims(OpCall(node, node.opset()), 0, given);
    EXPECT_EQ(made ? to_string(*made) : "?", expected.made);
  }
}

TEST(PartialDims, StatisticsAreOneNumberForTheAxes) {
  const auto model = Model::from_text(
      "<ir_version: 10, opset_import: [\"\": 17]>\n"
      "g (float[N, 5, 4] x, float[5, 4] s) => (float y) { y, mean, inverse = LayerNormalization <axis = -2> (x, s) }");
  const Node& node = model->graph().nodes().front();
  const Expected expected{"", {Dims{-1, 5, 4}, Dims{5, 4}}, {}, ""};
  Given given(expected);
  EXPECT_EQ(partial_dims(OpCall(node, node.opset()), 0, given), (Dims{-1, 5, 4}));
  EXPECT_EQ(partial_dims(OpCall(node, node.opset()), 1, given), (Dims{-1, 1, 1}));
  EXPECT_EQ(partial_dims(OpCall(node, node.opset()), 2, given), (Dims{-1, 1, 1}));
}

TEST(PartialDims, AttributesMayComeFromACaller) {
  const auto model = Model::from_text(
      "<ir_version: 10, opset_import: [\"\": 17, \"own\": 1]>\n"
      "g (float[N, 3, 8, 8] x) => (float y) { y = own.f <s = [2, 2]> (x) }\n"
      "<domain: \"own\", opset_import: [\"\": 17]>\n"
      "f <s> (u) => (v) { v = MaxPool <kernel_shape = [2, 2], strides : ints = @s> (u) }");
  const Node& call = model->graph().nodes().front();
  const Node& node = model->functions().front()->nodes().front();
  const Expected expected{"", {Dims{-1, 3, 8, 8}}, {}, ""};
  Given given(expected);
  OpCall pool(node, node.opset());
  EXPECT_EQ(partial_dims(pool, 0, given), std::nullopt);
  pool.attributes = Attributes(node, [&](std::string_view name) { return name == "strides" ? call.attribute("s") : node.attribute(name); });
  EXPECT_EQ(partial_dims(pool, 0, given), (Dims{-1, 3, 4, 4}));
}

}  // namespace
}  // namespace relayout::test
