// Tests bounds of results against the kernels' results on the operands of the op cases.

#include "ops/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/check.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

/// The smallest and the largest element; infinite for non-numeric elements and for none.
Bounds bounds_of_data(const Tensor& tensor) {
  if (!tensor || tensor.element_count() == 0 || !(kNumericTypes | kBooleanTypes).has(tensor.type())) return {};
  const std::vector<double> numbers = numbers_of(tensor);
  if (std::ranges::any_of(numbers, [](double number) { return std::isnan(number); })) return {};
  const auto [lowest, highest] = std::ranges::minmax(numbers);
  return {lowest, highest};
}

struct Found {
  Bounds stated;
  std::vector<double> numbers;  ///< of the first result
};

Found found_of(const OpCase& op_case, const std::vector<Tensor>& data) {
  const auto model = model_of(op_case);
  const Node& node = model->graph().nodes().front();
  OpSignatures signatures;
  const ElementTypes types(model->graph(), signatures);
  const Bounds stated = bounds_of_result(node, types, [&](const Value& value) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (node.input(i) == &value) return bounds_of_data(data[i]);
    }
    return Bounds{};
  });
  const std::vector<Datum> inputs(data.begin(), data.end());
  std::vector<const Datum*> pointers;
  for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
  const Datum result = run_node(node, pointers).front();
  const bool is_of_numbers = result.kind == Datum::Kind::tensor && (kNumericTypes | kBooleanTypes).has(result.tensor.type());
  return {stated, is_of_numbers ? numbers_of(result.tensor) : std::vector<double>()};
}

/// An operator with one operand of 32 bits.
OpCase of_one(const std::string& op, const std::string& attributes, const Dims& dims) {
  OpCase out;
  out.name = out.op = op;
  out.attributes = attributes;
  out.inputs.emplace_back().dims = dims;
  out.opset = kReviewedOpset;
  return out;
}

TEST(Bounds, HoldForResultsOfAllOperators) {
  std::map<std::string_view, bool> is_bounded;
  for (const OpCase& op_case : op_cases()) {
    for (const uint64_t seed : {1U, 2U, 3U}) {
      const auto [stated, numbers] = found_of(op_case, data_of(op_case, seed));
      is_bounded[op_case.op] |= std::isfinite(stated.lowest) || std::isfinite(stated.highest);
      for (const double number : numbers) {
        if (std::isnan(number)) continue;
        const double rounding = 0x1p-8 * std::abs(number);  // of the coarsest real type
        ASSERT_GE(number, stated.lowest - rounding) << op_case.name;
        ASSERT_LE(number, stated.highest + rounding) << op_case.name;
      }
    }
  }
  EXPECT_TRUE(is_bounded["Sigmoid"] && is_bounded["Concat"] && is_bounded["Add"] && is_bounded["Equal"] && is_bounded["Clip"]);
  EXPECT_FALSE(is_bounded["Tan"]);
}

TEST(Bounds, LowerBoundsOfActivationsFollowTheirAttributes) {
  std::vector<double> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(0.1 * i);
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"Swish", {"alpha = 0.01", "alpha = 0.25", "alpha = 1.0", "alpha = 3.0", "alpha = 0.0", "alpha = -0.5"}},
      {"Elu", {"", "alpha = 20.0", "alpha = -2.0"}},
      {"Celu", {"", "alpha = 20.0", "alpha = -60.0"}},
      {"Selu", {"", "alpha = 8.0, gamma = 2.0", "alpha = -2.0", "gamma = -1.0"}},
      {"ThresholdedRelu", {"", "alpha = -40.0", "alpha = 40.0"}},
      {"LeakyRelu", {"", "alpha = 30.0", "alpha = -0.5"}},
      {"Gelu", {"", "approximate = \"tanh\""}},
      {"Mish", {""}},
  };
  for (const auto& [op, all_attributes] : cases) {
    for (const std::string& attributes : all_attributes) {
      const auto [stated, numbers] = found_of(of_one(op, attributes, {8001}), {tensor_of_values(DataType::float32, {8001}, x)});
      const auto [lowest, highest] = std::ranges::minmax(numbers);
      const double rounding = 0x1p-22 * std::abs(lowest);
      EXPECT_LE(stated.lowest, lowest + rounding) << op << " " << attributes;
      EXPECT_GE(stated.highest, highest) << op << " " << attributes;
      // Within 1 % of the true end, where there is one.
      if (std::isfinite(stated.lowest)) {
        EXPECT_GE(stated.lowest, 1.01 * lowest) << op << " " << attributes;
      }
      if (std::isfinite(stated.highest)) {
        EXPECT_LE(stated.highest, 1.01 * highest) << op << " " << attributes;
      }
    }
  }
}

TEST(Bounds, PaddingZerosCountIfTheAttributeIncludesThem) {
  const Tensor fives = tensor_of_values(DataType::float32, {1, 1, 3, 3}, std::vector<double>(9, 5));
  for (const std::string counted : {"0", "1"}) {
    const std::string attributes = "kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = " + counted;
    const OpCase pool = of_one("AveragePool", attributes, {1, 1, 3, 3});
    const auto [stated, numbers] = found_of(pool, {fives});
    EXPECT_EQ(stated, (Bounds{counted == "1" ? 0.0 : 5.0, 5}));
    EXPECT_GE(*std::ranges::min_element(numbers), stated.lowest);
  }
}

TEST(Bounds, OfIntegersIncludeWrappedResults) {
  OpCase add = of_one("Add", "", {2});
  add.inputs.front().type = DataType::uint8;
  add.inputs.push_back(add.inputs.front());
  const Tensor large = tensor_of_values(DataType::uint8, {2}, {200, 255});
  const auto [stated, numbers] = found_of(add, {large, large});
  EXPECT_EQ(numbers, (std::vector<double>{144, 254}));  // modulo 256
  EXPECT_EQ(stated, (Bounds{0, 255}));
}

TEST(Bounds, OfCastsAreWithoutFractions) {
  const std::vector<double> x{-2.5, -0.25, 0.5, 3.75};
  for (const auto& [to, type] : {std::pair{"7", DataType::int64}, {"9", DataType::boolean}}) {
    const OpCase cast = of_one("Cast", std::string("to = ") + to, {4});
    const auto [stated, numbers] = found_of(cast, {tensor_of_values(DataType::float32, {4}, x)});
    const auto [lowest, highest] = std::ranges::minmax(numbers);
    EXPECT_EQ(stated.highest, highest) << name_of(type);
    EXPECT_LE(stated.lowest, lowest) << name_of(type);
    const auto halves = found_of(cast, {tensor_of_values(DataType::float32, {4}, {0.5, 0.5, 0.75, 0.75})});
    EXPECT_EQ(halves.stated, (Bounds{halves.numbers[0], halves.numbers[3]})) << name_of(type);
  }
}

TEST(Bounds, OfTypesAreThoseOfTheirBits) {
  EXPECT_EQ(bounds_of_type(DataType::int8), (Bounds{-128, 127}));
  EXPECT_EQ(bounds_of_type(DataType::uint16), (Bounds{0, 65535}));
  EXPECT_EQ(bounds_of_type(DataType::int4), (Bounds{-8, 7}));
  EXPECT_EQ(bounds_of_type(DataType::uint2), (Bounds{0, 3}));
  EXPECT_EQ(bounds_of_type(DataType::boolean), (Bounds{0, 1}));
  EXPECT_EQ(bounds_of_type(DataType::float32), Bounds{});
}

}  // namespace
}  // namespace relayout::test
