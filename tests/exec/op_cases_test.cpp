#include "support/op_cases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/many.h"

namespace relayout::test {
namespace {

/// Largest difference over the largest magnitude; infinite if dims, types or non-finite elements differ.
double distance(const Datum& a, const Datum& b) {
  constexpr double kDifferent = INFINITY;
  if (a.kind != b.kind || a.elements.size() != b.elements.size()) return kDifferent;
  double worst = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i) worst = std::max(worst, distance(a.elements[i], b.elements[i]));
  if (a.kind != Datum::Kind::tensor) return worst;
  if (a.tensor.type() != b.tensor.type() || a.tensor.dims() != b.tensor.dims()) return kDifferent;
  if (a.tensor.type() == DataType::string) {
    const Tensor x = contiguous(a.tensor), y = contiguous(b.tensor);
    return std::equal(x.data<std::string>(), x.data<std::string>() + x.element_count(), y.data<std::string>()) ? 0 : kDifferent;
  }
  const std::vector<double> x = numbers_of(a.tensor), y = numbers_of(b.tensor);
  double range = 1e-30;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return kDifferent;
    worst = std::max(worst, std::fabs(x[i] - y[i]));
  }
  for (const double value : x) range = std::isfinite(value) ? std::max(range, std::fabs(value)) : range;
  return worst / range;
}

/// Allowed difference between two orders of summation, by type.
double bound_of(const Datum& datum) {
  if (datum.kind != Datum::Kind::tensor) return datum.elements.empty() ? 0 : bound_of(datum.elements.front());
  switch (datum.tensor.type()) {
    case DataType::float32:
      return 2e-6;
    case DataType::float64:
      return 1e-14;
    case DataType::float16:
      return 1e-3;
    case DataType::bfloat16:
      return 8e-3;
    default:
      return 0;
  }
}

Outputs run(const Model& model, const Inputs& inputs, Mode mode, int threads) {
  ExecuteOptions options;
  options.mode = mode;
  options.threads = threads;
  return Executor(model.graph(), options).run(inputs);
}

/// Factor of the bound for sums of some thousand terms.
constexpr double kLongSums = 5;

/// relayout's kernels in the order of the file are the yardstick (tested against brute force elsewhere); the library, fused steps, and
/// other layouts must agree with them.
void expect_same_in_all_modes(const OpCase& one, double allowance = 1) {
  const auto model = model_of(one);
  const std::vector<Tensor> data = data_of(one);
  const Inputs inputs = inputs_of(one, data);
  const Outputs wanted = run(*model, inputs, Mode::reference, 1);
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    for (const int threads : {1, 2}) {
      const Outputs got = run(*model, inputs, mode, threads);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        const double bound = mode == Mode::reference ? 0 : allowance * bound_of(wanted[k]);
        EXPECT_LE(distance(wanted[k], got[k]), bound) << to_string(mode) << ", " << threads << " threads, output " << k;
      }
    }
  }
}

TEST(EveryOperator, GivesTheSameInAllModes) {
  for (const OpCase& one : op_cases()) {
    SCOPED_TRACE(one.name);
    expect_same_in_all_modes(one);
  }
}

TEST(EveryOperator, OfNetworksGivesTheSameInAllModes) {
  // relayout's kernels in double take seconds each under the sanitizers: only some cases run there.
  const std::size_t step = kMany / 5'000 == 1 ? 7 : 1;
  for (std::size_t i = 0; i < network_cases().size(); i += step) {
    SCOPED_TRACE(network_cases()[i].name);
    expect_same_in_all_modes(network_cases()[i], kLongSums);
  }
}

TEST(Attention, MaskedKeysMayBeNan) {
  const auto given = [](DataType type, Dims dims, std::vector<double> values) {
    return OperandCase{type, std::move(dims), Fill::values, std::move(values), false};
  };
  const OperandCase query = given(DataType::float32, {1, 1, 2, 2}, {1, 2, 3, 4}), value = given(DataType::float32, {1, 1, 3, 1}, {5, 6, 7}),
                    mask = given(DataType::boolean, {2, 3}, {1, 0, 1, 1, 0, 0});
  const OpCase one{"masked", "Attention", "", {query, given(DataType::float32, {1, 1, 3, 2}, {1, 0, NAN, NAN, 1, 0}), value, mask}, 23, 1};
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    const std::vector<double> got = numbers_of(run(*model_of(one), inputs_of(one, data_of(one)), mode, 1).at(0).tensor);
    EXPECT_EQ(got, (std::vector<double>{6, 5})) << to_string(mode);  // keys 0 and 2 are the same: the mean of their values
  }
}

bool has_image(const OpCase& one) {
  return !one.inputs.empty() && one.inputs[0].type == DataType::float32 && one.inputs[0].dims.size() >= 3;
}

/// The first operand is given with its channels last, and a Transpose makes it a strided view.
void expect_same_from_channels_last(const OpCase& one) {
  const auto model = model_of(one);
  const std::vector<Tensor> data = data_of(one);
  model->graph().sync();
  onnx::ModelProto message = model->message();
  const int64_t rank = data[0].rank();
  Dims there{0}, back{0, rank - 1};
  for (int64_t i = 2; i < rank; ++i) there.push_back(i);
  there.push_back(1);
  for (int64_t i = 1; i + 1 < rank; ++i) back.push_back(i);
  auto& graph = *message.mutable_graph();
  onnx::NodeProto transpose;
  transpose.set_op_type("Transpose");
  transpose.add_input("x0");
  transpose.add_output("x0_logical");
  auto& attribute = *transpose.add_attribute();
  attribute.set_name("perm");
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : back) attribute.add_ints(axis);
  graph.mutable_node(0)->set_input(0, "x0_logical");
  *graph.add_node() = graph.node(0);
  *graph.mutable_node(0) = transpose;
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < shape.dim_size(); ++i)
    shape.mutable_dim(i)->set_dim_value(data[0].dims()[static_cast<std::size_t>(there[static_cast<std::size_t>(i)])]);
  const auto changed = Model::from_bytes(message.SerializeAsString(), one.name);

  const Outputs wanted = run(*model, inputs_of(one, data), Mode::reference, 1);
  Inputs inputs = inputs_of(one, data);
  inputs["x0"] = contiguous(data[0].transposed(there));
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    const Outputs got = run(*changed, inputs, mode, 1);
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_LE(distance(wanted[k], got[k]), bound_of(wanted[k])) << to_string(mode) << " output " << k;
    }
  }
}

TEST(EveryOperator, TakesChannelsLastOperands) {
  for (const OpCase& one : op_cases()) {
    if (!has_image(one)) continue;
    SCOPED_TRACE(one.name);
    expect_same_from_channels_last(one);
  }
}

}  // namespace
}  // namespace relayout::test
