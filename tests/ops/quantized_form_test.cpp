#include "ops/quantized_form.h"

#include <gtest/gtest.h>

#include <set>

#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/op_cases.h"
#include "support/paths.h"

namespace relayout::test {
namespace {

std::set<std::string_view> with_form() {
  std::set<std::string_view> out;
  for (const QuantizedForm& form : quantized_forms()) out.insert(form.op);
  return out;
}

TEST(QuantizedForms, EveryOperatorOnQuantizedNumbersHasOne) {
  const auto known = with_form();
  std::set<std::string_view> wanted{"GatherBlockQuantized", "MatMulBnb4", "MatMulNBits"};  // compute with real numbers
  for (const auto table : {op_table(), composed_table()}) {
    for (const Op& op : table) {
      if (op.traits.has(Trait::quantized) && op.domain != Body::kOwnDomain) wanted.insert(op.name);
    }
  }
  EXPECT_EQ(known, wanted);
  for (const QuantizedForm& form : quantized_forms()) {
    EXPECT_TRUE(form.real.empty() || find_op(form.real) != nullptr) << form.op;
  }
}

/// A constant input of a node of the cases, or undefined.
DataType type_of(const Node& node, std::size_t input) {
  const Value* const value = node.input(input);
  return value != nullptr && value->initializer() != nullptr ? value->initializer()->data->type() : DataType::undefined;
}

bool is_real(DataType type) {
  return kRealTypes.has(type);
}

/// The inputs of a node that the form accounts for; expects that each has the type for its role.
std::set<std::size_t> accounted_inputs(const Node& node, const QuantizedForm& form) {
  std::set<std::size_t> out{form.bias, form.plain};
  const auto expect_grid = [&](std::size_t scale, std::size_t zero, DataType numbers) {
    out.insert({scale, zero});
    EXPECT_TRUE(node.input(scale) == nullptr || is_real(type_of(node, scale))) << node.op_type() << ", scale " << scale;
    const bool packs = form.packing != QuantizedForm::Packing::none;  // zero points may then have the type of the scales
    EXPECT_TRUE(node.input(zero) == nullptr || packs || type_of(node, zero) == numbers) << node.op_type() << ", zero point " << zero;
  };
  for (const auto& operand : form.operands(node)) {
    out.insert(operand.numbers);
    EXPECT_FALSE(is_real(type_of(node, operand.numbers))) << node.op_type() << ", input " << operand.numbers;
    expect_grid(operand.scale, operand.zero, type_of(node, operand.numbers));
  }
  if (form.result != QuantizedForm::kNoInput) expect_grid(form.result, form.result + 1, type_of(node, form.operands(node)[0].numbers));
  EXPECT_TRUE(!form.is_dynamic || is_real(type_of(node, 0))) << node.op_type();
  return out;
}

/// ONNX Runtime ran these nodes: types of their inputs distinguish numbers, scales and zero points.
TEST(QuantizedForms, InputsOfOnnxRuntimesCasesHaveTheTypesThatTheFormsSay) {
  std::set<std::string> seen;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(source_folder()) / "testdata/operators")) {
    if (file.path().extension() != ".onnx") continue;
    const auto model = Model::load(file.path());
    for (const Node& node : model->graph().nodes()) {
      const QuantizedForm* const form = quantized_form(node);
      if (form == nullptr) continue;
      seen.insert(node.op_type());
      const auto accounted = accounted_inputs(node, *form);
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        const bool is_small = node.input(i) != nullptr && traits(type_of(node, i)).bits <= 8 && type_of(node, i) != DataType::boolean;
        EXPECT_TRUE(!is_small || accounted.contains(i)) << node.op_type() << ": input " << i << " is of quantized numbers too";
      }
    }
  }
  for (const Op& op : composed_table()) {
    const bool has_form = std::ranges::find(quantized_forms(), op.name, &QuantizedForm::op) != quantized_forms().end();
    EXPECT_TRUE(!has_form || seen.contains(std::string(op.name))) << op.name;
  }
}

TEST(QuantizedForms, OfStandardOperatorsHoldInTheirCases) {
  std::set<std::string> seen;
  for (const OpCase& op_case : op_cases()) {
    const auto model = model_of(op_case);
    const Node& node = model->graph().nodes().front();
    const QuantizedForm* const form = quantized_form(node);
    if (form == nullptr) continue;
    seen.insert(op_case.op);
    const auto type = [&](std::size_t i) { return i < op_case.inputs.size() ? op_case.inputs[i].type : DataType::undefined; };
    for (const auto& operand : form->operands(node)) {
      EXPECT_FALSE(is_real(type(operand.numbers))) << op_case.name;
      EXPECT_TRUE(operand.scale == QuantizedForm::kNoInput || is_real(type(operand.scale))) << op_case.name;
      EXPECT_TRUE(operand.zero >= op_case.inputs.size() || type(operand.zero) == type(operand.numbers)) << op_case.name;
    }
    EXPECT_TRUE(form->result == QuantizedForm::kNoInput || is_real(type(form->result))) << op_case.name;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"}));
}

TEST(QuantizedForms, ConcatHasAsManyOperandsAsThereAre) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float s, uint8 z, uint8[2] a, uint8[2] b) => (y) { y = com.microsoft.QLinearConcat<axis = 0>(s, z, a, s, z, b, s, z) })");
  const Node& node = model->graph().nodes().front();
  std::vector<std::size_t> numbers;
  for (const auto& operand : quantized_form(node)->operands(node)) numbers.push_back(operand.numbers);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{2, 5}));
}

TEST(QuantizedForms, CallsOfFunctionsHaveNone) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) { y = com.microsoft.QGemm (x) }
    <domain: "com.microsoft", opset_import: ["" : 17]> QGemm (a) => (b) { b = Neg(a) })");
  EXPECT_EQ(quantized_form(model->graph().nodes().front()), nullptr);
}

}  // namespace
}  // namespace relayout::test
