#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

std::vector<double> numbers(const char* name, std::size_t count, bool positive = false) {
  const RandomStream random(1, name);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = positive ? 0.5 + random.uniform(i) : 2 * random.normal(i);
  return values;
}

Tensor f64(const Dims& dims, const std::vector<double>& values) {
  return tensor_of_values(DataType::float64, dims, values);
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
double variance_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += (x - mean_of(v)) * (x - mean_of(v));
  return sum / static_cast<double>(v.size());
}

TEST(BatchNormalization, FormulaPerChannel) {
  const std::size_t n = 2, c = 3, plane = 10;
  const auto x = numbers("x", n * c * plane), s = numbers("s", c), b = numbers("b", c), m = numbers("m", c), v = numbers("v", c, true);
  std::vector<double> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t k = i / plane % c;
    expected[i] = (x[i] - m[k]) / std::sqrt(v[k] + 0.5) * s[k] + b[k];
  }
  for (const int64_t opset : {1, 6, 7, 9, 14, 15}) {
    expect_near(numbers_of(run_one("BatchNormalization <epsilon = 0.5>",
                                   {f64({2, 3, 2, 5}, x), f64({3}, s), f64({3}, b), f64({3}, m), f64({3}, v)}, opset)),
                expected);
  }
}

TEST(BatchNormalization, StatisticsPerPositionInOpset7) {
  const auto x = numbers("x", 12), s = numbers("s", 6), b = numbers("b", 6), m = numbers("m", 6), v = numbers("v", 6, true);
  std::vector<double> expected(12);
  for (std::size_t i = 0; i < 12; ++i) expected[i] = (x[i] - m[i % 6]) / std::sqrt(v[i % 6] + 0.5) * s[i % 6] + b[i % 6];
  const Dims d{2, 3};
  expect_near(numbers_of(run_one("BatchNormalization <epsilon = 0.5, spatial = 0>",
                                 {f64({2, 2, 3}, x), f64(d, s), f64(d, b), f64(d, m), f64(d, v)}, 7)),
              expected);
}

TEST(BatchNormalization, TrainingUpdatesStatistics) {
  const auto x = numbers("x", 24), s = numbers("s", 3), b = numbers("b", 3), m = numbers("m", 3), v = numbers("v", 3, true);
  const auto out = run_op("BatchNormalization <epsilon = 0.5, momentum = 0.75, training_mode = 1>",
                          {f64({2, 3, 4}, x), f64({3}, s), f64({3}, b), f64({3}, m), f64({3}, v)}, 15, 3);
  std::vector<double> expected(x.size()), means, variances;
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> channel;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / 4 % 3 == k) channel.push_back(x[i]);
    }
    means.push_back(0.75 * m[k] + 0.25 * mean_of(channel));
    variances.push_back(0.75 * v[k] + 0.25 * variance_of(channel));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / 4 % 3 == k) expected[i] = (x[i] - mean_of(channel)) / std::sqrt(variance_of(channel) + 0.5) * s[k] + b[k];
    }
  }
  expect_near(numbers_of(out[0].tensor), expected);
  expect_near(numbers_of(out[1].tensor), means);
  expect_near(numbers_of(out[2].tensor), variances);
}

TEST(BatchNormalization, RejectsInvalidOperands) {
  const auto of = [](const Dims& dims) { return Tensor(DataType::float32, dims); };
  EXPECT_THROW((void)run_one("BatchNormalization", {of({2, 3, 4}), of({3}), of({3}), of({3}), of({4})}), Error);
  EXPECT_THROW((void)run_one("BatchNormalization", {of({2, 3, 4}), of({3, 1}), of({3}), of({3}), of({3})}), Error);
  EXPECT_THROW((void)run_one("BatchNormalization", {of({2, 3, 4}), of({3}), of({3}), of({3})}), Error);
  EXPECT_THROW((void)run_op("BatchNormalization", {of({2, 3, 4}), of({3}), of({3}), of({3}), of({3})}, 15, 3), Error);
}

TEST(LayerNormalization, FormulaAndStatistics) {
  const auto x = numbers("x", 24), s = numbers("s", 6), b = numbers("b", 3);
  const auto out = run_op("LayerNormalization <axis = -2, epsilon = 0.5>", {f64({4, 2, 3}, x), f64({2, 3}, s), f64({3}, b)}, 17, 3);
  std::vector<double> expected(x.size()), means, inverse;
  for (std::size_t row = 0; row < 4; ++row) {
    const std::vector<double> line(x.begin() + static_cast<std::ptrdiff_t>(row * 6), x.begin() + static_cast<std::ptrdiff_t>(row * 6 + 6));
    means.push_back(mean_of(line));
    inverse.push_back(1 / std::sqrt(variance_of(line) + 0.5));
    for (std::size_t i = 0; i < 6; ++i) expected[row * 6 + i] = (line[i] - means.back()) * inverse.back() * s[i] + b[i % 3];
  }
  expect_near(numbers_of(out[0].tensor), expected);
  EXPECT_EQ(out[1].tensor.dims(), (Dims{4, 1, 1}));
  EXPECT_EQ(out[1].tensor.type(), DataType::float32);  // stash_type
  expect_near(numbers_of(out[1].tensor), means, 1e-6);
  expect_near(numbers_of(out[2].tensor), inverse, 1e-6);
}

TEST(RMSNormalization, Formula) {
  const auto x = numbers("x", 12), s = numbers("s", 3);
  std::vector<double> expected(12);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t row = i / 3 * 3;
    const double squares = x[row] * x[row] + x[row + 1] * x[row + 1] + x[row + 2] * x[row + 2];
    expected[i] = x[i] / std::sqrt(squares / 3 + 0.5) * s[i % 3];
  }
  expect_near(numbers_of(run_one("RMSNormalization <epsilon = 0.5>", {f64({4, 3}, x), f64({3}, s)}, 23)), expected);
}

/// Normalizes groups of elements given by `group` and scales by `index` into s and b.
std::vector<double> grouped(const std::vector<double>& x, std::size_t groups, const std::function<std::size_t(std::size_t)>& group,
                            const std::vector<double>& s, const std::vector<double>& b,
                            const std::function<std::size_t(std::size_t)>& index) {
  std::vector<double> y(x.size());
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<double> members;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (group(i) == g) members.push_back(x[i]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (group(i) == g) y[i] = (x[i] - mean_of(members)) / std::sqrt(variance_of(members) + 0.5) * s[index(i)] + b[index(i)];
    }
  }
  return y;
}

TEST(InstanceNormalization, PerImageAndChannel) {
  const auto x = numbers("x", 48), s = numbers("s", 4), b = numbers("b", 4);
  const auto expected = grouped(x, 8, [](std::size_t i) { return i / 6; }, s, b, [](std::size_t i) { return i / 6 % 4; });
  expect_near(numbers_of(run_one("InstanceNormalization <epsilon = 0.5>", {f64({2, 4, 2, 3}, x), f64({4}, s), f64({4}, b)})), expected);
}

TEST(GroupNormalization, ScalePerGroupThenPerChannel) {
  const auto x = numbers("x", 48), s = numbers("s", 4), b = numbers("b", 4);
  const auto group = [](std::size_t i) { return i / 12; };
  expect_near(
      numbers_of(run_one("GroupNormalization <num_groups = 2, epsilon = 0.5>", {f64({2, 4, 2, 3}, x), f64({4}, s), f64({4}, b)}, 21)),
      grouped(x, 4, group, s, b, [](std::size_t i) { return i / 6 % 4; }));
  expect_near(numbers_of(run_one("GroupNormalization <num_groups = 2, epsilon = 0.5>",
                                 {f64({2, 4, 2, 3}, x), f64({2}, {s[0], s[1]}), f64({2}, {b[0], b[1]})}, 18)),
              grouped(x, 4, group, s, b, [](std::size_t i) { return i / 12 % 2; }));
  EXPECT_THROW((void)run_one("GroupNormalization <num_groups = 3>", {f64({2, 4, 2, 3}, x), f64({4}, s), f64({4}, b)}), Error);
}

TEST(Lrn, EvenSizesReachFurtherAfterTheCentre) {
  const Tensor x = f64({1, 4, 1}, {1, 2, 3, 4});
  const auto term = [](double value, double squares) { return value / (2 + 0.5 / 2 * squares); };
  expect_near(numbers_of(run_one("LRN <size = 2, alpha = 0.5, beta = 1.0, bias = 2.0>", {x})),
              {term(1, 5), term(2, 13), term(3, 25), term(4, 16)});
  const auto odd = [](double value, double squares) { return value / (2 + 0.5 / 3 * squares); };
  expect_near(numbers_of(run_one("LRN <size = 3, alpha = 0.5, beta = 1.0, bias = 2.0>", {x})),
              {odd(1, 5), odd(2, 14), odd(3, 29), odd(4, 25)});
}

TEST(LpNormalization, ZerosStayZeros) {
  const Tensor x = f64({2, 2}, {3, 4, 0, 0});
  expect_near(numbers_of(run_one("LpNormalization", {x})), {0.6, 0.8, 0, 0});
  expect_near(numbers_of(run_one("LpNormalization <p = 1>", {x})), {3.0 / 7, 4.0 / 7, 0, 0});
}

TEST(Softmax, OneAxisOrFlattened) {
  const auto x = numbers("x", 12);
  const auto over = [&](const std::vector<std::vector<std::size_t>>& groups) {
    std::vector<double> y(12);
    for (const auto& group : groups) {
      double sum = 0;
      for (const std::size_t i : group) sum += std::exp(x[i]);
      for (const std::size_t i : group) y[i] = std::exp(x[i]) / sum;
    }
    return y;
  };
  const Tensor tensor = f64({2, 3, 2}, x);
  expect_near(numbers_of(run_one("Softmax <axis = 1>", {tensor})), over({{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}}));
  expect_near(numbers_of(run_one("Softmax", {tensor})), over({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}));
  expect_near(numbers_of(run_one("Softmax", {tensor}, 11)), over({{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}));
  auto logs = over({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}});
  for (double& value : logs) value = std::log(value);
  expect_near(numbers_of(run_one("LogSoftmax", {tensor})), logs);
}

TEST(Softmax, LargeNumbersAndNan) {
  EXPECT_EQ(numbers_of(run_one("Softmax", {f64({2}, {1000, 1000})})), (std::vector<double>{0.5, 0.5}));
  for (const double y : numbers_of(run_one("Softmax", {f64({2}, {std::nan(""), 1})}))) EXPECT_TRUE(std::isnan(y));
  for (const double y : numbers_of(run_one("Softmax", {f64({2}, {-HUGE_VAL, -HUGE_VAL})}))) EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(numbers_of(run_one("Softmax", {f64({2}, {-INFINITY, 1})})), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers_of(run_one("Hardmax", {f64({3}, {1, 5, 5})})), (std::vector<double>{0, 1, 0}));
}

TEST(Loss, WeightedMeanAndIgnored) {
  const Tensor x = f64({3, 2}, {-1, -2, -3, -4, -5, -6}), target = tensor_of_values(DataType::int64, {3}, {1, 0, 1}),
               weight = f64({2}, {2, 3});
  // −w · x at the targets: 6, 6, 18 with weights 3, 2, 3.
  expect_near(numbers_of(run_one("NegativeLogLikelihoodLoss", {x, target, weight})), {30.0 / 8});
  expect_near(numbers_of(run_one("NegativeLogLikelihoodLoss <reduction = \"sum\">", {x, target, weight})), {30});
  expect_near(numbers_of(run_one("NegativeLogLikelihoodLoss <reduction = \"none\">", {x, target})), {2, 3, 6});
  expect_near(numbers_of(run_one("NegativeLogLikelihoodLoss <ignore_index = 0>", {x, target})), {4});
  EXPECT_THROW((void)run_one("NegativeLogLikelihoodLoss", {x, tensor_of_values(DataType::int64, {3}, {1, 2, 1})}), Error);
  const auto out = run_op("SoftmaxCrossEntropyLoss", {f64({1, 2}, {0, 0}), tensor_of_values(DataType::int32, {1}, {1})}, 13, 2);
  expect_near(numbers_of(out[0].tensor), {std::log(2)});
  expect_near(numbers_of(out[1].tensor), {-std::log(2), -std::log(2)});
}

/// Like numpy.argmax, which the operator's reference uses.
TEST(Hardmax, TakesTheFirstLargestAndNanAsLargest) {
  const Tensor x = tensor_of_values(DataType::float32, {3, 4}, {1, 3, 3, 2, 5, NAN, 9, NAN, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL});
  EXPECT_EQ(numbers_of(run_one("Hardmax", {x})), (std::vector<double>{0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace relayout::test
