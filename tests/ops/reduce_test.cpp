#include <gtest/gtest.h>

#include <array>
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

Tensor int64s(const std::vector<double>& values) {
  return tensor_of_values(DataType::int64, {static_cast<int64_t>(values.size())}, values);
}

/// All elements that contribute to each result of x [2, 3, 4, 5] reduced over `axes`.
std::vector<std::vector<double>> groups_of(const std::vector<double>& x, const std::vector<std::size_t>& axes) {
  const std::array<std::size_t, 4> dims{2, 3, 4, 5};
  std::vector<std::vector<double>> groups;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < 4; ++i) {
    if (std::ranges::find(axes, i) == axes.end()) kept.push_back(i);
  }
  std::size_t count = 1;
  for (const std::size_t i : kept) count *= dims[i];
  groups.resize(count);
  for (std::size_t flat = 0; flat < x.size(); ++flat) {
    std::array<std::size_t, 4> index{};
    std::size_t rest = flat;
    for (std::size_t i = 4; i-- > 0;) {
      index[i] = rest % dims[i];
      rest /= dims[i];
    }
    std::size_t group = 0;
    for (const std::size_t i : kept) group = group * dims[i] + index[i];
    groups[group].push_back(x[flat]);
  }
  return groups;
}

using Fold = std::function<double(const std::vector<double>&)>;

double sum_of(const std::vector<double>& v, double (*f)(double)) {
  double sum = 0;
  for (const double x : v) sum += f(x);
  return sum;
}

const std::vector<std::pair<const char*, Fold>> kFolds{
    {"ReduceSum", [](const auto& v) { return sum_of(v, [](double x) { return x; }); }},
    {"ReduceMean", [](const auto& v) { return sum_of(v, [](double x) { return x; }) / static_cast<double>(v.size()); }},
    {"ReduceL1", [](const auto& v) { return sum_of(v, [](double x) { return std::abs(x); }); }},
    {"ReduceL2", [](const auto& v) { return std::sqrt(sum_of(v, [](double x) { return x * x; })); }},
    {"ReduceSumSquare", [](const auto& v) { return sum_of(v, [](double x) { return x * x; }); }},
    {"ReduceLogSumExp", [](const auto& v) { return std::log(sum_of(v, [](double x) { return std::exp(x); })); }},
    {"ReduceMax", [](const auto& v) { return *std::ranges::max_element(v); }},
    {"ReduceMin", [](const auto& v) { return *std::ranges::min_element(v); }},
    {"ReduceProd",
     [](const auto& v) {
       double product = 1;
       for (const double x : v) product *= x;
       return product;
     }},
};

TEST(Reduce, EveryFoldOverEverySetOfAxes) {
  const RandomStream random(1, "reduce");
  std::vector<double> x(120);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.normal(i);
  const Tensor tensor = tensor_of_values(DataType::float64, {2, 3, 4, 5}, x);
  for (const auto& [op, fold] : kFolds) {
    for (unsigned set = 1; set < 16; ++set) {
      std::vector<std::size_t> axes;
      std::vector<double> operand;
      for (std::size_t i = 0; i < 4; ++i) {
        if ((set >> i & 1U) == 0) continue;
        axes.push_back(i);
        operand.push_back(static_cast<double>(i) - (i % 2 == 0 ? 4 : 0));  // some counted from the end
      }
      const auto y = numbers_of(run_one(std::string(op) + " <keepdims = 0>", {tensor, int64s(operand)}));
      const auto groups = groups_of(x, axes);
      ASSERT_EQ(y.size(), groups.size());
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], fold(groups[i]), 1e-12 * (1 + std::abs(y[i]))) << op << " set " << set;
    }
  }
}

TEST(Reduce, FormsOfTheOpsets) {
  const Tensor x = tensor_of_values(DataType::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_one("ReduceMax", {x, int64s({1})}).dims(), (Dims{2, 1}));
  EXPECT_EQ(run_one("ReduceMax <keepdims = 0>", {x, int64s({1})}).dims(), Dims{2});
  EXPECT_EQ(run_one("ReduceMax", {x}).dims(), (Dims{1, 1}));
  EXPECT_EQ(numbers_of(run_one("ReduceMax <axes = [0]>", {x}, 13)), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(numbers_of(run_one("ReduceSum <axes = [0]>", {x}, 11)), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(numbers_of(run_one("ReduceSum", {x, int64s({0})}, 13)), (std::vector<double>{5, 7, 9}));
  // No axes and noop: no sum is taken, the rest of the operator still applies.
  EXPECT_EQ(numbers_of(run_one("ReduceSum <noop_with_empty_axes = 1>", {x})), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers_of(run_one("ReduceSumSquare <noop_with_empty_axes = 1>", {x, int64s({})})), (std::vector<double>{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(numbers_of(run_one("ReduceSum", {x, int64s({})})), std::vector<double>{21});
}

TEST(Reduce, EmptyReductionsGiveTheNeutralElement) {
  const Tensor x(DataType::float32, {2, 0, 3});
  const auto over = [&](const char* op, const Tensor& t) { return numbers_of(run_one(op, {t, int64s({1})})); };
  EXPECT_EQ(over("ReduceSum", x), std::vector<double>(6, 0));
  EXPECT_EQ(over("ReduceProd", x), std::vector<double>(6, 1));
  EXPECT_EQ(over("ReduceMax", x), std::vector<double>(6, -kInfinity));
  EXPECT_EQ(over("ReduceMin", x), std::vector<double>(6, kInfinity));
  EXPECT_EQ(over("ReduceLogSumExp", x), std::vector<double>(6, -kInfinity));
  EXPECT_EQ(over("ReduceMax", Tensor(DataType::int8, {2, 0})), std::vector<double>(2, -128));
  EXPECT_EQ(over("ReduceMin", Tensor(DataType::uint8, {2, 0})), std::vector<double>(2, 255));
  EXPECT_EQ(over("ReduceMin", Tensor(DataType::boolean, {2, 0})), std::vector<double>(2, 1));
  EXPECT_EQ(run_one("ReduceSum", {x, int64s({0})}).dims(), (Dims{1, 0, 3}));
}

TEST(Reduce, NanAndInfinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor_of_values(DataType::float32, {3}, {1, nan, 2});
  EXPECT_TRUE(std::isnan(numbers_of(run_one("ReduceMax", {x}))[0]));
  EXPECT_TRUE(std::isnan(numbers_of(run_one("ReduceMin", {x}))[0]));
  EXPECT_TRUE(std::isnan(numbers_of(run_one("ReduceLogSumExp", {x}))[0]));
  const Tensor large = tensor_of_values(DataType::float32, {2}, {1000, 1000});
  EXPECT_NEAR(numbers_of(run_one("ReduceLogSumExp", {large}))[0], 1000 + std::log(2), 1e-4);
  EXPECT_EQ(numbers_of(run_one("ReduceLogSumExp", {tensor_of_values(DataType::float32, {2}, {kInfinity, 1})}))[0], kInfinity);
}

TEST(Reduce, IntegersAreExact) {
  const Tensor x = tensor_of_values(DataType::int32, {2}, {2147483647, 1});
  EXPECT_EQ(numbers_of(run_one("ReduceSum", {x})), std::vector<double>{-2147483648.0});
  Tensor wide(DataType::int64, {2});
  wide.data<int64_t>()[0] = 9007199254740993;
  wide.data<int64_t>()[1] = 2;
  EXPECT_EQ(*run_one("ReduceSum", {wide}).data<int64_t>(), 9007199254740995);
  EXPECT_EQ(numbers_of(run_one("ReduceMean", {tensor_of_values(DataType::int32, {2}, {-3, -4})})), std::vector<double>{-3});
  EXPECT_EQ(numbers_of(run_one("ReduceL1", {tensor_of_values(DataType::int32, {2}, {-3, 4})})), std::vector<double>{7});
}

TEST(Reduce, ExtremesOfEveryIntegerType) {
  constexpr int64_t kRows = 40, kColumns = 50;
  const RandomStream random(7, "extremes");
  for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16, DataType::int32, DataType::uint32,
                              DataType::int64, DataType::uint64}) {
    std::vector<double> values, largest(kRows, 0), smallest(kRows, 200);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      values.push_back(static_cast<double>(random.below(static_cast<uint64_t>(i), 120) + 1));
      const auto row = static_cast<std::size_t>(i / kColumns);
      largest[row] = std::max(largest[row], values.back());
      smallest[row] = std::min(smallest[row], values.back());
    }
    const Tensor x = tensor_of_values(type, {kRows, kColumns}, values);
    EXPECT_EQ(numbers_of(run_one("ReduceMax <keepdims = 0>", {x, int64s({1})})), largest) << name_of(type);
    EXPECT_EQ(numbers_of(run_one("ReduceMin <keepdims = 0>", {x, int64s({1})})), smallest) << name_of(type);
  }
}

TEST(Reduce, SumsInDouble) {
  std::vector<double> ones(std::size_t{1} << 12, 1.0);
  ones[0] = 16777216 * 256.0;
  const Tensor x = tensor_of_values(DataType::float32, {static_cast<int64_t>(ones.size())}, ones);
  EXPECT_EQ(numbers_of(run_one("ReduceSum", {x})), std::vector<double>{16777216 * 256.0 + 4096});
}

TEST(Reduce, RejectsInvalidOperands) {
  const Tensor x(DataType::float32, {2, 3});
  EXPECT_THROW((void)run_one("ReduceSum", {x, int64s({2})}), Error);
  EXPECT_THROW((void)run_one("ReduceSum", {x, int64s({1, -1})}), Error);
  EXPECT_THROW((void)run_one("ReduceSum", {x, x}), Error);
  EXPECT_THROW((void)run_one("ReduceMean", {Tensor(DataType::int32, {0})}), Error);
}

TEST(ArgMax, TiesAndForms) {
  const Tensor x = tensor_of_values(DataType::float32, {2, 3}, {1, 5, 5, 7, 2, 7});
  EXPECT_EQ(numbers_of(run_one("ArgMax <axis = 1>", {x})), (std::vector<double>{1, 0}));
  EXPECT_EQ(numbers_of(run_one("ArgMax <axis = -1, select_last_index = 1>", {x})), (std::vector<double>{2, 2}));
  EXPECT_EQ(numbers_of(run_one("ArgMin <keepdims = 0>", {x})), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(run_one("ArgMax", {x}).dims(), (Dims{1, 3}));
  const double nan = std::nan("");
  EXPECT_EQ(numbers_of(run_one("ArgMax", {tensor_of_values(DataType::float32, {4}, {1, nan, 9, nan})})), std::vector<double>{1});
  EXPECT_THROW((void)run_one("ArgMax <axis = 2>", {x}), Error);
  EXPECT_THROW((void)run_one("ArgMax", {Tensor(DataType::float32, {0, 2})}), Error);
}

TEST(TopK, OrderTiesAndForms) {
  const Tensor x = tensor_of_values(DataType::float32, {5}, {3, 1, 3, 2, 3});
  const auto largest = run_op("TopK", {x, int64s({4})}, 22, 2);
  EXPECT_EQ(numbers_of(largest[0].tensor), (std::vector<double>{3, 3, 3, 2}));
  EXPECT_EQ(numbers_of(largest[1].tensor), (std::vector<double>{0, 2, 4, 3}));
  const auto smallest = run_op("TopK <largest = 0>", {x, int64s({3})}, 22, 2);
  EXPECT_EQ(numbers_of(smallest[1].tensor), (std::vector<double>{1, 3, 0}));
  EXPECT_EQ(numbers_of(run_op("TopK <k = 2>", {x}, 1, 2)[1].tensor), (std::vector<double>{0, 2}));
  EXPECT_THROW((void)run_op("TopK", {x, int64s({6})}, 22, 2), Error);
  EXPECT_THROW((void)run_op("TopK", {x, int64s({-1})}, 22, 2), Error);
}

TEST(CumSum, AlongEachAxis) {
  const Dims dims{3, 4, 5};
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(i * 7 % 11 - 5);
  const int64_t strides[] = {20, 5, 1};
  for (const int64_t axis : {0, 1, 2, -1}) {
    const auto along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    for (const bool reverse : {false, true}) {
      std::vector<double> wanted = x;
      for (int64_t i = 0; i < 60; ++i) {
        const int64_t at = i / strides[along] % dims[along], first = reverse ? at : 0, last = reverse ? dims[along] - 1 : at;
        double& sum = wanted[static_cast<std::size_t>(i)] = 0;
        for (int64_t k = first; k <= last; ++k) sum += x[static_cast<std::size_t>(i + (k - at) * strides[along])];
      }
      for (const DataType type : {DataType::float32, DataType::float16, DataType::int32}) {
        const Tensor result =
            run_one(std::string("CumSum <reverse = ") + (reverse ? "1>" : "0>"),
                    {tensor_of_values(type, dims, x), tensor_of_values(DataType::int64, {}, {static_cast<double>(axis)})});
        EXPECT_EQ(numbers_of(result), wanted) << axis << reverse;
      }
    }
  }
}

TEST(CumSum, Directions) {
  const Tensor x = tensor_of_values(DataType::int32, {4}, {1, 2, 3, 4}), axis = int64s({0});
  EXPECT_EQ(numbers_of(run_one("CumSum", {x, axis})), (std::vector<double>{1, 3, 6, 10}));
  EXPECT_EQ(numbers_of(run_one("CumSum <exclusive = 1>", {x, axis})), (std::vector<double>{0, 1, 3, 6}));
  EXPECT_EQ(numbers_of(run_one("CumSum <reverse = 1>", {x, axis})), (std::vector<double>{10, 9, 7, 4}));
  EXPECT_EQ(numbers_of(run_one("CumSum <exclusive = 1, reverse = 1>", {x, axis})), (std::vector<double>{9, 7, 4, 0}));
  EXPECT_EQ(numbers_of(run_one("CumProd", {x, axis}, 26)), (std::vector<double>{1, 2, 6, 24}));
}

}  // namespace
}  // namespace relayout::test
