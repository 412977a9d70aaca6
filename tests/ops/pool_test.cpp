#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct PoolCase {
  Dims x, kernel, strides, dilations, before, after;
  bool ceil = false, include = false;
};

/// Output size of one dim (specification of MaxPool 22 and AveragePool 22; a last window may not begin after input and left pad).
int64_t outputs_of(const PoolCase& p, std::size_t i) {
  const double free = static_cast<double>(p.x[i + 2] + p.before[i] + p.after[i] - ((p.kernel[i] - 1) * p.dilations[i] + 1)) /
                      static_cast<double>(p.strides[i]);
  auto count = static_cast<int64_t>(p.ceil ? std::ceil(free) : std::floor(free)) + 1;
  if (p.ceil && (count - 1) * p.strides[i] >= p.x[i + 2] + p.before[i]) --count;
  return count;
}

/// Calls visit(value, flat plane position) for the taps inside; returns the number of taps within input and pads.
template <class Visit>
int visit_window(const PoolCase& p, const std::vector<double>& x, int64_t plane_index, int64_t oh, int64_t ow, const Visit& visit) {
  int padded = 0;
  for (int64_t kh = 0; kh < p.kernel[0]; ++kh) {
    for (int64_t kw = 0; kw < p.kernel[1]; ++kw) {
      const int64_t h = oh * p.strides[0] - p.before[0] + kh * p.dilations[0], w = ow * p.strides[1] - p.before[1] + kw * p.dilations[1];
      if (h < p.x[2] + p.after[0] && w < p.x[3] + p.after[1]) ++padded;
      if (h < 0 || h >= p.x[2] || w < 0 || w >= p.x[3]) continue;
      visit(x[static_cast<std::size_t>((plane_index * p.x[2] + h) * p.x[3] + w)], h * p.x[3] + w);
    }
  }
  return padded;
}

PoolCase random_case(uint64_t trial) {
  const RandomStream random(trial, "pool");
  uint64_t next = 0;
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random.below(next++, static_cast<uint64_t>(high - low + 1)));
  };
  PoolCase p;
  p.x = {pick(1, 2), pick(1, 4)};
  for (std::size_t i = 0; i < 2; ++i) {
    p.kernel.push_back(pick(1, 3));
    p.strides.push_back(pick(1, 3));
    p.dilations.push_back(pick(1, 2));
    p.before.push_back(pick(0, p.kernel.back() - 1));
    p.after.push_back(pick(0, p.kernel.back() - 1));
    p.x.push_back((p.kernel.back() - 1) * p.dilations.back() + 1 + pick(0, i == 0 ? 6 : 26) + static_cast<int64_t>(i));
  }
  p.ceil = pick(0, 1) != 0;
  p.include = pick(0, 1) != 0;
  return p;
}

std::string attributes_of(const PoolCase& p) {
  Dims pads = p.before;
  pads.insert(pads.end(), p.after.begin(), p.after.end());
  return "kernel_shape = " + to_string(p.kernel) + ", strides = " + to_string(p.strides) + ", dilations = " + to_string(p.dilations) +
         ", pads = " + to_string(pads) + ", ceil_mode = " + std::to_string(p.ceil ? 1 : 0);
}

std::vector<double> numbers(uint64_t trial, const Dims& dims) {
  const RandomStream random(trial, "x");
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(random.below(i, 65)) / 4 - 8;
  return values;
}

TEST(MaxPool, MatchesTheDefinitionOnRandomShapes) {
  for (uint64_t trial = 0; trial < 200; ++trial) {
    const PoolCase p = random_case(trial);
    // Few numbers, so that there are ties; NaN is the largest.
    std::vector<double> x = numbers(trial, p.x);
    for (double& value : x) {
      if (value < -7) value = trial % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : -kInfinity;
    }
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + attributes_of(p) + " x " + to_string(p.x));
    const DataType type = trial % 4 == 3 ? DataType::float64 : DataType::float32;
    const auto out = run_op("MaxPool <" + attributes_of(p) + ">", {tensor_of_values(type, p.x, x)}, 22, 2);
    const Tensor& y = out[0].tensor;
    ASSERT_EQ(y.dims(), (Dims{p.x[0], p.x[1], outputs_of(p, 0), outputs_of(p, 1)}));
    const std::vector<double> values = numbers_of(y), positions = numbers_of(out[1].tensor);
    std::size_t at = 0;
    for (int64_t plane = 0; plane < p.x[0] * p.x[1]; ++plane) {
      for (int64_t oh = 0; oh < y.dims()[2]; ++oh) {
        for (int64_t ow = 0; ow < y.dims()[3]; ++ow, ++at) {
          double best = -kInfinity;
          int64_t where = -1;
          visit_window(p, x, plane, oh, ow, [&](double value, int64_t position) {
            if (where >= 0 && !(value > best) && (!std::isnan(value) || std::isnan(best))) return;
            where = position;
            best = value;
          });
          ASSERT_TRUE(values[at] == best || (std::isnan(values[at]) && std::isnan(best)));
          ASSERT_EQ(positions[at], static_cast<double>(plane * p.x[2] * p.x[3] + std::max(where, int64_t{0})));
        }
      }
    }
  }
}

TEST(AveragePool, MatchesTheDefinitionOnRandomShapes) {
  for (uint64_t trial = 0; trial < 200; ++trial) {
    const PoolCase p = random_case(trial);
    const std::vector<double> x = numbers(trial, p.x);
    const std::string attributes = attributes_of(p) + ", count_include_pad = " + std::to_string(p.include ? 1 : 0);
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + attributes + " x " + to_string(p.x));
    const Tensor y = run_one("AveragePool <" + attributes + ">", {tensor_of_values(DataType::float64, p.x, x)});
    ASSERT_EQ(y.dims(), (Dims{p.x[0], p.x[1], outputs_of(p, 0), outputs_of(p, 1)}));
    const std::vector<double> values = numbers_of(y);
    std::size_t at = 0;
    for (int64_t plane = 0; plane < p.x[0] * p.x[1]; ++plane) {
      for (int64_t oh = 0; oh < y.dims()[2]; ++oh) {
        for (int64_t ow = 0; ow < y.dims()[3]; ++ow, ++at) {
          double sum = 0;
          int inside = 0;
          const int padded = visit_window(p, x, plane, oh, ow, [&](double value, int64_t) {
            sum += value;
            ++inside;
          });
          const double expected = sum / (p.include ? padded : inside);
          if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(values[at]));
          } else {
            ASSERT_DOUBLE_EQ(values[at], expected);
          }
        }
      }
    }
  }
}

/// oneDNN divides the corner by the whole kernel: 0.25 instead of 1.
TEST(AveragePool, OverhangOfCeilModeNeverCounts) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 5, 5}, std::vector<double>(25, 1.0));
  const Tensor y = run_one("AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1, count_include_pad = 1>", {x});
  EXPECT_EQ(numbers_of(y), std::vector<double>(9, 1.0));
}

TEST(MaxPool, NanWinsAndMinusInfinityStays) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 6}, {1, nan, 2, -kInfinity, -kInfinity, -kInfinity});
  const auto y = numbers_of(run_one("MaxPool <kernel_shape = [2]>", {x}));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 2);
  EXPECT_EQ(y[3], -kInfinity);
  EXPECT_EQ(y[4], -kInfinity);
}

TEST(MaxPool, IndicesInColumnMajorOrder) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 2, 3}, {0, 5, 1, 2, 3, 4});
  const auto rows = run_op("MaxPool <kernel_shape = [2, 2]>", {x}, 22, 2),
             columns = run_op("MaxPool <kernel_shape = [2, 2], storage_order = 1>", {x}, 22, 2);
  EXPECT_EQ(numbers_of(rows[1].tensor), (std::vector<double>{1, 1}));
  EXPECT_EQ(numbers_of(columns[1].tensor), (std::vector<double>{2, 2}));
}

TEST(Pool, AutoPad) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(numbers_of(run_one("MaxPool <kernel_shape = [2], strides = [2], auto_pad = \"SAME_UPPER\">", {x})),
            (std::vector<double>{2, 4, 5}));
  EXPECT_EQ(numbers_of(run_one("MaxPool <kernel_shape = [2], strides = [2], auto_pad = \"SAME_LOWER\">", {x})),
            (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(numbers_of(run_one("MaxPool <kernel_shape = [2], strides = [2], auto_pad = \"VALID\">", {x})), (std::vector<double>{2, 4}));
}

TEST(LpPool, PowersAndRoots) {
  const Tensor x = tensor_of_values(DataType::float64, {1, 1, 3}, {3, -4, 1});
  EXPECT_EQ(numbers_of(run_one("LpPool <kernel_shape = [2]>", {x}))[0], 5);
  EXPECT_EQ(numbers_of(run_one("LpPool <kernel_shape = [2], p = 1>", {x})), (std::vector<double>{7, 5}));
  EXPECT_NEAR(numbers_of(run_one("LpPool <kernel_shape = [2], p = 3>", {x}))[0], std::cbrt(27 + 64), 1e-12);
}

TEST(GlobalPool, WholePlanes) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 2, 1, 3}, {1, 2, 6, -1, -2, -9});
  EXPECT_EQ(numbers_of(run_one("GlobalAveragePool", {x})), (std::vector<double>{3, -4}));
  EXPECT_EQ(numbers_of(run_one("GlobalMaxPool", {x})), (std::vector<double>{6, -1}));
  EXPECT_EQ(run_one("GlobalMaxPool", {x}).dims(), (Dims{1, 2, 1, 1}));
}

TEST(Pool, RejectsInvalidWindowsAndOperands) {
  const Tensor x(DataType::float32, {1, 2, 4, 5});
  for (const char* op : {"MaxPool", "MaxPool <kernel_shape = [2]>", "MaxPool <kernel_shape = [0, 1]>", "MaxPool <kernel_shape = [9, 1]>",
                         "MaxPool <kernel_shape = [2, 2], strides = [-1, 1]>", "MaxPool <kernel_shape = [2, 2], pads = [1]>",
                         "AveragePool <kernel_shape = [4611686018427387904, 2], pads = [4611686018427387904, 1, 1, 1]>"}) {
    EXPECT_THROW((void)run_one(op, {x}), Error) << op;
  }
  EXPECT_THROW((void)run_one("GlobalMaxPool", {Tensor(DataType::float32, {1, 2})}), Error);
}

}  // namespace
}  // namespace relayout::test
