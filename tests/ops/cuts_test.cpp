// Tests cuts of definitions against the places where the kernels' functions have a kink, jump or end.

#include <gtest/gtest.h>

#include <cmath>

#include "model/check.h"
#include "ops/bounds.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

using Numbers = std::vector<double>;

/// An operator with one operand of 64 bits.
OpCase function_of(std::string_view op) {
  OperandCase operand;
  operand.type = DataType::float64;
  operand.dims = {1};
  OpCase out;
  out.name = out.op = op;
  out.inputs.assign(op == "PRelu" ? 2 : 1, operand);
  out.opset = kReviewedOpset;
  if (op == "Clip") {
    out.attributes = "min = -1.5, max = 2.5";
    out.opset = 6;
  }
  return out;
}

/// Results of the function; nothing if the operator is no function of one operand.
std::optional<Numbers> results_of(const OpCase& op_case, const Numbers& x) {
  std::vector<Datum> data{tensor_of_values(DataType::float64, {std::ssize(x)}, x)};
  if (op_case.inputs.size() > 1) data.emplace_back(tensor_of_values(DataType::float64, {1}, {0.25}));
  try {
    return numbers_of(run_one(op_case.op + (op_case.attributes.empty() ? "" : " <" + op_case.attributes + ">"), data, op_case.opset));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Multiples of 1/2 at which a function or its first two derivatives jump.
std::optional<Numbers> kinks_of(const OpCase& op_case) {
  constexpr double kStep = 0x1p-12, kJump = 0.2;
  Numbers out;
  for (int i = -8; i <= 8; ++i) {
    const double at = 0.5 * i;
    const auto found = results_of(op_case, {at - 3 * kStep, at - 2 * kStep, at - kStep, at + kStep, at + 2 * kStep, at + 3 * kStep});
    if (!found || found->size() != 6) return std::nullopt;
    const Numbers& y = *found;
    const auto curvature = [&](std::size_t first) { return (y[first] - 2 * y[first + 1] + y[first + 2]) / (kStep * kStep); };
    const double value = y[3] - y[2], slope = ((y[4] - y[3]) - (y[2] - y[1])) / kStep, bend = curvature(3) - curvature(0);
    const bool ends = std::isnan(y[2]) != std::isnan(y[3]);
    if (ends || std::abs(value) > kJump || std::abs(slope) > kJump || std::abs(bend) > kJump) out.push_back(at);
  }
  return out;
}

std::optional<Cuts> cuts_of_case(const OpCase& op_case) {
  const auto model = model_of(op_case);
  OpSignatures signatures;
  const ElementTypes types(model->graph(), signatures);
  return cuts_of(model->graph().nodes().front(), types, [](const Value&) { return Bounds{}; });
}

TEST(Cuts, AreWhereTheFunctionsOfOneOperandHaveAKinkJumpOrEnd) {
  std::map<std::string_view, Numbers> stated, found;
  for (const Op& op : op_table()) {
    const OpCase op_case = function_of(op.name);
    const bool is_function = op.traits.has(Trait::elementwise) && !op.traits.has(Trait::casts) && !op.traits.has(Trait::makes_boolean);
    const auto kinks = is_function ? kinks_of(op_case) : std::nullopt;
    // Floor and similar functions jump everywhere. Reciprocal and Tan have poles; Softsign is one formula with a continuous slope.
    constexpr std::size_t kMost = 3;
    if (!kinks || kinks->size() > kMost || op.name == "Reciprocal" || op.name == "Softsign" || op.name == "Tan") continue;
    if (!kinks->empty()) found[op.name] = *kinks;
    const auto cuts = cuts_of_case(op_case);
    if (!cuts || cuts->numbers.empty() || op.name == "Exp") continue;
    for (const double cut : cuts->numbers) stated[op.name].push_back(std::round(cut * 1e6) / 1e6);  // attributes are of 32 bits
  }
  EXPECT_EQ(stated, found);
}

TEST(Cuts, OfAnExpAreWhereItOverflows) {
  const auto cuts = cuts_of_case(function_of("Exp"));
  ASSERT_TRUE(cuts && cuts->numbers.size() == 1);
  const auto results = results_of(function_of("Exp"), {cuts->numbers[0] - 0.01, cuts->numbers[0] + 0.01});
  EXPECT_TRUE(std::isfinite((*results)[0]) && std::isinf((*results)[1]));
}

TEST(Cuts, AreOfPiecewiseDefinitionsOnly) {
  for (const OpCase& op_case : op_cases()) {
    EXPECT_TRUE(find_op(op_case.op)->traits.has(Trait::piecewise) || !cuts_of_case(op_case)) << op_case.name;
  }
}

}  // namespace
}  // namespace relayout::test
