// Tests every op case with its operands and results arranged in memory in every way: the result must be the same.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

std::vector<Datum> run_case(const OpCase& op_case, const EvaluateOptions& options) {
  const auto model = model_of(op_case);
  const std::vector<Tensor> data = data_of(op_case);
  std::vector<Datum> inputs(data.begin(), data.end());
  std::vector<const Datum*> pointers;
  for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
  return run_node(model->graph().nodes().front(), pointers, options);
}

/// Reductions add in the order of memory, in double: results differ by rounding after some 50 bits.
bool may_differ_by_rounding(const OpCase& op_case) {
  return op_case.op.starts_with("Reduce");
}

void expect_same(const OpCase& op_case, const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.type(), expected.type());
  ASSERT_EQ(actual.dims(), expected.dims());
  const Tensor a = contiguous(actual), b = contiguous(expected);
  if (a.type() == DataType::string) {
    for (int64_t i = 0; i < a.element_count(); ++i) ASSERT_EQ(a.data<std::string>()[i], b.data<std::string>()[i]);
    return;
  }
  const std::vector<double> x = numbers_of(a), y = numbers_of(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (may_differ_by_rounding(op_case)) {
      ASSERT_NEAR(x[i], y[i], 1e-6 * std::abs(y[i])) << "element " << i;
    } else {
      ASSERT_EQ(x[i], y[i]) << "element " << i;
    }
  }
}

void expect_same(const OpCase& op_case, const Datum& actual, const Datum& expected) {
  ASSERT_EQ(actual.kind, expected.kind);
  if (actual.kind == Datum::Kind::tensor) return expect_same(op_case, actual.tensor, expected.tensor);
  ASSERT_EQ(actual.elements.size(), expected.elements.size());
  for (std::size_t i = 0; i < actual.elements.size(); ++i) expect_same(op_case, actual.elements[i], expected.elements[i]);
}

/// Calls check(one) for all cases.
template <class Check>
void for_each_case(const Check& check) {
  for (const OpCase& one : op_cases()) {
    SCOPED_TRACE(one.name);
    check(one);
  }
}

void check_arrangements(const OpCase& one) {
  const std::vector<Datum> expected = run_case(one, {});
  for (const Arrangement inputs : {Arrangement::contiguous, Arrangement::channels_last, Arrangement::reversed, Arrangement::gapped}) {
    for (const Arrangement outputs : {Arrangement::contiguous, Arrangement::channels_last, Arrangement::reversed, Arrangement::gapped}) {
      SCOPED_TRACE("inputs " + std::to_string(static_cast<int>(inputs)) + ", outputs " + std::to_string(static_cast<int>(outputs)));
      const std::vector<Datum> actual = run_case(one, {inputs, outputs, 1, false});
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) expect_same(one, actual[i], expected[i]);
    }
  }
}

void check_views_and_threads(const OpCase& one) {
  const std::vector<Datum> expected = run_case(one, {});
  for (const Arrangement inputs : {Arrangement::contiguous, Arrangement::channels_last}) {
    const std::vector<Datum> actual = run_case(one, {inputs, Arrangement::contiguous, 3, true});
    for (std::size_t i = 0; i < actual.size(); ++i) expect_same(one, actual[i], expected[i]);
  }
}

/// An op that may run in place gives the same result over its first operand.
void check_in_place(const OpCase& one) {
  const auto model = model_of(one);
  const Node& node = model->graph().nodes().front();
  const Op* op = find_op(node.op_type());
  ASSERT_NE(op, nullptr);
  if (!op->in_place) return;
  const std::vector<Datum> expected = run_case(one, {});
  std::vector<Tensor> data = data_of(one);
  if (data[0].desc() != expected[0].tensor.desc()) return;  // the result is larger than the first operand
  std::vector<Datum> inputs(data.begin(), data.end());
  std::vector<const Datum*> pointers;
  for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
  Datum output(data[0]);
  std::vector<Datum*> outputs{&output};
  op->compute(OpCall(node, node.opset()), pointers, outputs);
  expect_same(one, output, expected[0]);
}

TEST(OpCases, ArrangementInMemoryDoesNotMatter) {
  for_each_case(check_arrangements);
}
TEST(OpCases, ViewsAndThreadsDoNotMatter) {
  for_each_case(check_views_and_threads);
}
TEST(OpCases, InPlaceDoesNotMatter) {
  for_each_case(check_in_place);
}

/// Operators whose kernels have no operands in memory, or whose results are random.
const std::set<std::string_view> kNotInCases{
    "Constant",          "Bernoulli",          "Multinomial",   "RandomNormal",       "RandomNormalLike",   "RandomUniform",
    "RandomUniformLike", "ConcatFromSequence", "Optional",      "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty",      "SequenceErase", "SequenceInsert",     "SequenceLength"};

TEST(OpCaseList, EveryOperatorIsThere) {
  std::set<std::string_view> covered;
  for (const OpCase& op_case : op_cases()) covered.insert(op_case.op);
  for (const Op& op : op_table()) {
    const bool cannot_be = kNotInCases.contains(op.name) || op.traits.has(Trait::control_flow);
    EXPECT_NE(covered.contains(op.name), cannot_be) << op.name;
  }
}

TEST(OpCaseList, NamesAreUnique) {
  std::set<std::string> names;
  for (const OpCase& op_case : op_cases()) EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name;
}

}  // namespace
}  // namespace relayout::test
