#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/loops/dtypes.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

std::vector<double> whole_numbers(const char* name, const Dims& dims) {
  const RandomStream random(1, name);
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(random.below(i, 9)) - 4;
  return values;
}

/// Row-major m×k times k×n.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::size_t m, std::size_t k, std::size_t n) {
  std::vector<double> c(m * n, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t t = 0; t < k; ++t) c[i * n + j] += a[i * k + t] * b[t * n + j];
    }
  }
  return c;
}

/// Sizes around and beyond the blocks of the product (512 × 256 × 64).
TEST(MatMul, MatchesTheDefinitionAcrossBlocks) {
  for (const Dims& size :
       {Dims{1, 1, 1}, Dims{3, 5, 7}, Dims{5, 300, 63}, Dims{4, 256, 64}, Dims{7, 513, 65}, Dims{515, 3, 130}, Dims{1, 600, 200}}) {
    const Dims a_dims{size[0], size[1]}, b_dims{size[1], size[2]};
    const auto a = whole_numbers("a", a_dims), b = whole_numbers("b", b_dims);
    const auto expected =
        product(a, b, static_cast<std::size_t>(size[0]), static_cast<std::size_t>(size[1]), static_cast<std::size_t>(size[2]));
    for (const DataType type : {DataType::float32, DataType::float64, DataType::int32, DataType::uint64}) {
      const auto of = [&](const Dims& dims, const std::vector<double>& values) {
        Tensor tensor(type, dims);
        const std::vector<int64_t> whole(values.begin(), values.end());
        store(type, tensor.bytes(), 1, tensor.element_count(), whole.data());
        return tensor;
      };
      const Tensor c = run_one("MatMul", {of(a_dims, a), of(b_dims, b)});
      ASSERT_EQ(c.dims(), (Dims{size[0], size[2]}));
      if (type == DataType::uint64) {
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(c.data<uint64_t>()[i], static_cast<uint64_t>(static_cast<int64_t>(expected[i])));
      } else {
        ASSERT_EQ(numbers_of(c), expected) << to_string(size) << " " << name_of(type);
      }
    }
  }
}

TEST(MatMul, BatchDimsBroadcast) {
  const Dims a_dims{2, 1, 3, 4}, b_dims{5, 4, 2};
  const auto a = whole_numbers("a", a_dims), b = whole_numbers("b", b_dims);
  const Tensor c = run_one("MatMul", {tensor_of_values(DataType::float32, a_dims, a), tensor_of_values(DataType::float32, b_dims, b)});
  ASSERT_EQ(c.dims(), (Dims{2, 5, 3, 2}));
  const auto values = numbers_of(c);
  for (std::ptrdiff_t i = 0; i < 2; ++i) {
    for (std::ptrdiff_t j = 0; j < 5; ++j) {
      const std::vector<double> left(a.begin() + i * 12, a.begin() + (i + 1) * 12), right(b.begin() + j * 8, b.begin() + (j + 1) * 8);
      const std::vector<double> part(values.begin() + (i * 5 + j) * 6, values.begin() + (i * 5 + j + 1) * 6);
      EXPECT_EQ(part, product(left, right, 3, 4, 2));
    }
  }
}

TEST(MatMul, VectorsLoseTheirDim) {
  const Tensor v = tensor_of_values(DataType::float32, {3}, {1, 2, 3}), m = tensor_of_values(DataType::float32, {3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(run_one("MatMul", {v, m}).dims(), Dims{2});
  EXPECT_EQ(numbers_of(run_one("MatMul", {v, m})), (std::vector<double>{14, 32}));
  EXPECT_EQ(run_one("MatMul", {v, v}).dims(), Dims{});
  EXPECT_EQ(numbers_of(run_one("MatMul", {v, v})), std::vector<double>{14});
}

TEST(MatMul, EmptySumsAreZero) {
  const Tensor c = run_one("MatMul", {Tensor(DataType::float32, {2, 0}), Tensor(DataType::float32, {0, 3})});
  EXPECT_EQ(numbers_of(c), std::vector<double>(6, 0.0));
}

TEST(MatMul, SumsInDouble) {
  const Tensor a = tensor_of_values(DataType::float32, {1, 3}, {16777216, 1, -16777216}),
               b = tensor_of_values(DataType::float32, {3, 1}, {1, 1, 1});
  EXPECT_EQ(numbers_of(run_one("MatMul", {a, b})), std::vector<double>{1});
}

TEST(MatMul, RejectsInvalidOperands) {
  const auto of = [](const Dims& dims, DataType type = DataType::float32) { return Tensor(type, dims); };
  EXPECT_THROW((void)run_one("MatMul", {of({2, 3}), of({2, 3})}), Error);
  EXPECT_THROW((void)run_one("MatMul", {of({}), of({2, 3})}), Error);
  EXPECT_THROW((void)run_one("MatMul", {of({2, 2, 3}), of({3, 3, 2})}), Error);
  EXPECT_THROW((void)run_one("MatMul", {of({2, 3}), of({3, 2}, DataType::float64)}), Error);
}

TEST(Gemm, AllTranspositionsAndAddends) {
  const auto a = whole_numbers("a", {5, 7}), b = whole_numbers("b", {7, 3});
  const auto expected = product(a, b, 5, 7, 3);
  const auto turned = [](const std::vector<double>& values, std::size_t rows, std::size_t columns) {
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = values[i * columns + j];
    }
    return result;
  };
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      const Tensor left =
          a_turned ? tensor_of_values(DataType::float32, {7, 5}, turned(a, 5, 7)) : tensor_of_values(DataType::float32, {5, 7}, a);
      const Tensor right =
          b_turned ? tensor_of_values(DataType::float32, {3, 7}, turned(b, 7, 3)) : tensor_of_values(DataType::float32, {7, 3}, b);
      const std::string attributes =
          "Gemm <alpha = 0.5, beta = 2.0, transA = " + std::to_string(a_turned) + ", transB = " + std::to_string(b_turned) + ">";
      const std::vector<std::pair<Dims, std::function<double(std::size_t, std::size_t)>>> addends{
          {Dims{}, [](std::size_t, std::size_t) { return 1.0; }},
          {Dims{3}, [](std::size_t, std::size_t j) { return static_cast<double>(j + 1); }},
          {Dims{5, 1}, [](std::size_t i, std::size_t) { return static_cast<double>(i + 1); }},
          {Dims{1, 3}, [](std::size_t, std::size_t j) { return static_cast<double>(j + 1); }},
          {Dims{5, 3}, [](std::size_t i, std::size_t j) { return static_cast<double>(3 * i + j + 1); }}};
      for (const auto& [dims, value] : addends) {
        std::vector<double> numbered(static_cast<std::size_t>(element_count(dims)));
        for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i] = static_cast<double>(i + 1);
        const auto y = numbers_of(run_one(attributes, {left, right, tensor_of_values(DataType::float32, dims, numbered)}));
        for (std::size_t i = 0; i < 5; ++i) {
          for (std::size_t j = 0; j < 3; ++j)
            ASSERT_EQ(y[i * 3 + j], 0.5 * expected[i * 3 + j] + 2 * value(i, j)) << attributes << to_string(dims);
        }
      }
      EXPECT_EQ(
          numbers_of(run_one("Gemm <transA = " + std::to_string(a_turned) + ", transB = " + std::to_string(b_turned) + ">", {left, right})),
          expected);
    }
  }
}

TEST(Gemm, IntegersWrap) {
  const Tensor a = tensor_of_values(DataType::int32, {1, 1}, {2147483647}), b = tensor_of_values(DataType::int32, {1, 1}, {2});
  EXPECT_EQ(numbers_of(run_one("Gemm", {a, b})), std::vector<double>{-2});
}

TEST(Gemm, RejectsInvalidOperands) {
  const auto of = [](const Dims& dims) { return Tensor(DataType::float32, dims); };
  EXPECT_THROW((void)run_one("Gemm", {of({2, 3}), of({2, 3})}), Error);
  EXPECT_THROW((void)run_one("Gemm", {of({2, 3, 1}), of({3, 2})}), Error);
  EXPECT_THROW((void)run_one("Gemm", {of({2, 3}), of({3, 4}), of({3})}), Error);
  EXPECT_THROW((void)run_one("Gemm", {of({2, 3}), of({3, 4}), of({1, 2, 4})}), Error);
  EXPECT_THROW((void)run_one("Gemm", {of({2, 3}), of({3, 4})}, 9), Error);  // C is optional since opset 11
}

TEST(Einsum, MatchesItsSums) {
  const auto a = whole_numbers("a", {2, 3}), b = whole_numbers("b", {3, 4});
  const Tensor left = tensor_of_values(DataType::float32, {2, 3}, a), right = tensor_of_values(DataType::float32, {3, 4}, b);
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ij,jk->ik\">", {left, right})), product(a, b, 2, 3, 4));
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ij, jk\">", {left, right})), product(a, b, 2, 3, 4));
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ij->ji\">", {left})), (std::vector<double>{a[0], a[3], a[1], a[4], a[2], a[5]}));
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ij->\">", {left})), std::vector<double>{a[0] + a[1] + a[2] + a[3] + a[4] + a[5]});
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"...j->...\">", {left})),
            (std::vector<double>{a[0] + a[1] + a[2], a[3] + a[4] + a[5]}));
  const Tensor square = tensor_of_values(DataType::int64, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ii\">", {square})), std::vector<double>{5});
  EXPECT_EQ(numbers_of(run_one("Einsum <equation = \"ii->i\">", {square})), (std::vector<double>{1, 4}));
  EXPECT_THROW((void)run_one("Einsum <equation = \"ij,jk->ik\">", {left, left}), Error);
  EXPECT_THROW((void)run_one("Einsum <equation = \"ij->k\">", {left}), Error);
  EXPECT_THROW((void)run_one("Einsum <equation = \"ijk->i\">", {left}), Error);
  EXPECT_THROW((void)run_one("Einsum <equation = \"i?->i\">", {left}), Error);
}

}  // namespace
}  // namespace relayout::test
