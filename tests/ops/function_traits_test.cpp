// Tests what the op table says of functions, roundings, reductions and choices of elements against the kernels' results and ONNX's schemas.

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <cmath>
#include <numeric>
#include <set>

#include "ops/bounds.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

using Names = std::set<std::string_view>;

/// The result of an operator for one operand of f32; nothing if it does not take such an operand, or changes the dims.
std::optional<std::vector<double>> of_numbers(std::string_view op, const std::vector<double>& x) {
  try {
    const Tensor result = run_one(std::string(op), {tensor_of_values(DataType::float32, {std::ssize(x)}, x)});
    if (result.type() != DataType::float32 || result.element_count() != std::ssize(x)) return std::nullopt;
    return numbers_of(result);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_function_of_one(const Op& op) {
  return op.traits.has(Trait::elementwise) && !op.traits.has(Trait::one_is_itself);
}

TEST(FunctionTraits, RoundingMatchesTheKernels) {
  const std::vector<double> x{-2.5, -1.5, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5};
  const std::map<Rounds, double (*)(double)> functions{
      {Rounds::to_nearest, [](double number) { return std::nearbyint(number); }},
      {Rounds::down, [](double number) { return std::floor(number); }},
      {Rounds::up, [](double number) { return std::ceil(number); }},
  };
  std::map<std::string_view, Rounds> stated, computed;
  for (const Op& op : op_table()) {
    if (op.traits.rounds() != Rounds::none) stated[op.name] = op.traits.rounds();
    const auto y = is_function_of_one(op) ? of_numbers(op.name, x) : std::nullopt;
    for (const auto& [how, function] : functions) {
      bool holds = y.has_value();
      for (std::size_t i = 0; holds && i < x.size(); ++i) holds = (*y)[i] == function(x[i]);
      if (holds) computed[op.name] = how;
    }
  }
  EXPECT_EQ(stated, computed);
  for (const auto& [how, function] : functions) {
    for (const double number : x) EXPECT_EQ(rounded(how, number), function(number));
  }
}

TEST(FunctionTraits, PowersMatchTheKernels) {
  const std::vector<double> x{0.25, 1, 4, 9, 16};
  std::map<std::string_view, double> stated, computed;
  for (const Op& op : op_table()) {
    if (op.traits.exponent() != 1) stated[op.name] = op.traits.exponent();
    const auto y = is_function_of_one(op) ? of_numbers(op.name, x) : std::nullopt;
    for (const double exponent : {-2.0, -1.0, -0.5, 0.5, 2.0, 3.0}) {
      bool holds = y.has_value();
      for (std::size_t i = 0; holds && i < x.size(); ++i) holds = std::abs((*y)[i] / std::pow(x[i], exponent) - 1) < 1e-6;
      if (holds) computed[op.name] = exponent;
    }
  }
  EXPECT_EQ(stated, computed);
}

TEST(FunctionTraits, IncreasingFunctionsIncreaseTheResults) {
  std::vector<double> x;
  for (double number = -3; number <= 3; number += 0.0625) x.push_back(number);
  Names increasing;
  for (const Op& op : op_table()) {
    auto y = is_function_of_one(op) ? of_numbers(op.name, x) : std::nullopt;
    if (!y) continue;
    std::erase_if(*y, [](double number) { return !std::isfinite(number); });  // beyond its domain
    if (y->size() > 2 && std::ranges::adjacent_find(*y, std::ranges::greater_equal()) == y->end()) increasing.insert(op.name);
  }
  for (const std::string_view by_attribute : {"Celu", "Clip", "Elu", "LeakyRelu", "Selu"}) EXPECT_EQ(increasing.erase(by_attribute), 1U);
  for (const std::string_view along_axis : {"LogSoftmax", "Softmax"}) {
    const std::vector<double> y = of_numbers(along_axis, {-1, 0, 0.5, 2}).value();
    EXPECT_TRUE(std::ranges::is_sorted(y));
    increasing.insert(along_axis);
  }
  Names stated;
  for (const Op& op : op_table()) {
    if (op.traits.has(Trait::increases)) stated.insert(op.name);
  }
  EXPECT_EQ(stated, increasing);
}

TEST(FunctionTraits, InversesGiveOperandsOfTheResults) {
  const std::vector<double> x{-2.75, -0.75, -0.25, 0.25, 0.5, 1.5, 3};
  std::size_t known = 0;
  for (const Op& op : op_table()) {
    const auto y = is_function_of_one(op) ? of_numbers(op.name, x) : std::nullopt;
    if (!y) continue;
    OpCase op_case;
    op_case.op = op.name;
    op_case.inputs.emplace_back().dims = {1};
    const auto model = model_of(op_case);
    const Invertible* const function = inverse_of(model->graph().nodes().front());
    if (function == nullptr) continue;
    ++known;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double result = function->result(x[i]);
      if (std::isnan((*y)[i]) || result == 0) continue;
      EXPECT_NEAR((*y)[i], result, 1e-6 * std::abs(result)) << op.name << " " << x[i];
      EXPECT_NEAR(function->result(function->operand(result)), result, 1e-9 * std::abs(result)) << op.name << " " << x[i];
      EXPECT_EQ(function->is_even, function->result(-x[i]) == result) << op.name << " " << x[i];
    }
  }
  EXPECT_EQ(known, 13U);
}

TEST(FunctionTraits, ReductionsMatchTheKernels) {
  const std::vector<double> x{0.5, -2, 3, 4};  // magnitudes add up to 9.5, squares to 29.25
  const double of_exponentials = std::log(std::exp(0.5) + std::exp(-2.0) + std::exp(3.0) + std::exp(4.0));
  const std::map<Reduces, double> expected{
      {Reduces::sum, 5.5},
      {Reduces::mean, 1.375},
      {Reduces::product, -12},
      {Reduces::maximum, 4},
      {Reduces::minimum, -2},
      {Reduces::l1, 9.5},
      {Reduces::l2, std::sqrt(29.25)},
      {Reduces::sum_square, 29.25},
      {Reduces::log_sum, std::log(5.5)},
      {Reduces::log_sum_exp, of_exponentials},
  };
  Names named, stated;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (schema.domain().empty() && schema.Name().starts_with("Reduce")) named.insert(find_op(schema.Name())->name);
  }
  for (const Op& op : op_table()) {
    if (op.traits.reduces() == Reduces::none) continue;
    stated.insert(op.name);
    const Tensor result = run_one(std::string(op.name), {tensor_of_values(DataType::float32, {4}, x)});
    EXPECT_NEAR(numbers_of(result).front(), expected.at(op.traits.reduces()), 1e-5) << op.name;
  }
  EXPECT_EQ(stated, named);
}

}  // namespace
}  // namespace relayout::test
