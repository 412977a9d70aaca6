// Replaces and compares single features, and computes distances and probabilities of support vector machines.
#include <cmath>

#include "base/positions.h"
#include "base/threads.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kModelTypes{DataType::float32, DataType::float64, DataType::int32, DataType::int64};

/// Calls change(value, index) for each element of the operand, in the domain of its type, and stores what that makes of it.
template <class Change>
void change_elements(InputData inputs, OutputData outputs, const Change& change) {
  const Tensor x = contiguous(tensor_at(inputs, 0));
  const DenseOutput target(outputs[0]->tensor);
  const int64_t count = x.element_count();
  with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    std::vector<Domain> values(as_size(count));
    load(x.type(), x.bytes(), 1, count, values.data());
    for (int64_t i = 0; i < count; ++i) change(element_at(values, i), i);
    store(x.type(), target.tensor().bytes(), 1, count, values.data());
  });
  target.finish();
}

}  // namespace

Inferred infer_features(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kModelTypes);
  return one(call, x.type, x.dims);
}

void binarizer(const OpCall& call, InputData inputs, OutputData outputs) {
  const double threshold = static_cast<double>(call.attributes.real("threshold", 0));
  change_elements(inputs, outputs, [&](auto& value, int64_t) { value = static_cast<double>(value) > threshold ? 1 : 0; });
}

void imputer(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const std::vector<float> reals = call.attributes.reals("imputed_value_floats");
  const std::vector<int64_t> integers = call.attributes.integers("imputed_value_int64s");
  const bool is_real = traits(x.type()).is_float;
  const auto replaced_real = static_cast<double>(call.attributes.real("replaced_value_float", 0));
  const int64_t replaced_integer = call.attributes.integer("replaced_value_int64", 0);
  const auto count = static_cast<int64_t>(is_real ? reals.size() : integers.size()), columns = x.dims().empty() ? 1 : x.dims().back();
  if (count != 1 && (count == 0 || count != columns))
    reject(call, std::to_string(count) + " imputed values for " + std::to_string(columns) + " features");
  change_elements(inputs, outputs, [&]<class Domain>(Domain& value, int64_t i) {
    const int64_t at = count == 1 ? 0 : i % count;
    if constexpr (std::is_floating_point_v<Domain>) {
      if (value == replaced_real || (std::isnan(value) && std::isnan(replaced_real))) value = static_cast<double>(element_at(reals, at));
    } else {
      if (value == static_cast<Domain>(replaced_integer)) value = static_cast<Domain>(element_at(integers, at));
    }
  });
}

Inferred infer_squared_distances(const OpCall& call, InputInfos inputs) {
  const auto& [x, y] = two_of_one_type(call, inputs, kRealTypes);
  if (x.dims.size() != 2 || y.dims.size() != 2 || x.dims[1] != y.dims[1]) {
    reject(call, "rows of dims " + to_string(x.dims) + " and " + to_string(y.dims) + " have no distance");
  }
  return one(call, x.type, {x.dims[0], y.dims[0]});
}

void squared_distances(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::vector<double> x = reals_of(tensor_at(inputs, 0)), y = reals_of(tensor_at(inputs, 1));
  const DenseOutput target(outputs[0]->tensor);
  const Tensor& out = target.tensor();
  const int64_t rows = out.dims()[0], columns = out.dims()[1], length = tensor_at(inputs, 0).dims()[1];
  parallel_for(rows, call.threads, [&](int64_t row) {
    std::vector<double> sums(as_size(columns));
    for (int64_t column = 0; column < columns; ++column) {
      const double *const a = x.data() + row * length, *const b = y.data() + column * length;
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
      element_at(sums, column) = sum;
    }
    store(out.type(), out.bytes() + row * columns * element_stride(out.type()), 1, columns, sums.data());
  });
  target.finish();
}

Inferred infer_pairwise_probabilities(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& scores = tensor_info(call, inputs, 0, kRealTypes);
  const int64_t classes = call.attributes.integer("classes", 2);
  if (scores.dims.size() != 2 || scores.dims[1] != classes * (classes - 1) / 2) reject(call, "scores have dims " + to_string(scores.dims));
  return one(call, scores.type, {scores.dims[0], classes});
}

namespace {

/// Probabilities of classes from those of each pair, r(i, j) that it is i rather than j: Wu, Lin and Weng, "Probability Estimates for
/// Multi-class Classification by Pairwise Coupling", algorithm 2, with the limits of LIBSVM.
std::vector<double> coupled(std::size_t classes, const std::vector<double>& r) {
  constexpr int kMostRounds = 100;
  const auto at = [classes](const std::vector<double>& matrix, std::size_t i, std::size_t j) { return matrix[i * classes + j]; };
  std::vector<double> q(classes * classes), p(classes, 1 / static_cast<double>(classes)), qp(classes);
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t j = 0; j < classes; ++j) {
      if (i == j) continue;
      q[i * classes + i] += at(r, j, i) * at(r, j, i);
      q[i * classes + j] = -at(r, j, i) * at(r, i, j);
    }
  }
  for (int round = 0; round < kMostRounds; ++round) {
    double pqp = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      qp[i] = 0;
      for (std::size_t j = 0; j < classes; ++j) qp[i] += at(q, i, j) * p[j];
      pqp += p[i] * qp[i];
    }
    double worst = 0;
    for (const double one : qp) worst = std::max(worst, std::fabs(one - pqp));
    if (worst < 0.005 / static_cast<double>(classes)) break;
    for (std::size_t i = 0; i < classes; ++i) {
      const double step = (pqp - qp[i]) / at(q, i, i);
      p[i] += step;
      pqp = (pqp + step * (step * at(q, i, i) + 2 * qp[i])) / (1 + step) / (1 + step);
      for (std::size_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * at(q, i, j)) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
  return p;
}

}  // namespace

/// Operands: scores of pairs, and two numbers per pair, a and b, so that 1 / (1 + exp(a · score + b)) is the probability of its first
/// class.
void pairwise_probabilities(const OpCall&, InputData inputs, OutputData outputs) {
  constexpr double kLeast = 1e-7;
  const std::vector<double> scores = reals_of(tensor_at(inputs, 0)), a = reals_of(tensor_at(inputs, 1)), b = reals_of(tensor_at(inputs, 2));
  const DenseOutput target(outputs[0]->tensor);
  const Tensor& out = target.tensor();
  const auto classes = as_size(out.dims()[1]);
  const std::size_t pairs = classes * (classes - 1) / 2;
  for (int64_t row = 0; row < out.dims()[0]; ++row) {
    std::vector<double> r(classes * classes);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
        const double share = 1 / (1 + std::exp(a[pair] * scores[as_size(row) * pairs + pair] + b[pair]));
        r[i * classes + j] = std::clamp(share, kLeast, 1 - kLeast);
        r[j * classes + i] = 1 - r[i * classes + j];
      }
    }
    const std::vector<double> shares = coupled(classes, r);
    store(out.type(), out.bytes() + row * out.dims()[1] * element_stride(out.type()), 1, out.dims()[1], shares.data());
  }
  target.finish();
}

}  // namespace relayout::kernels
