#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

const Dims kDims = {3, 4, 2, 5};

TensorData counting(const Dims& dims) {
  std::string bytes;
  for (int64_t i = 0; i < element_count(dims); ++i) {
    const auto value = static_cast<float>(i + 1);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return {DataType::float32, dims, Bytes::owned(bytes)};
}

/// Factors 0.5, 1, 1.5 … over two dims of `dims`.
Scale factors_over(const Dims& dims, std::size_t row_axis, std::size_t column_axis, bool rows, bool columns) {
  Scale out{rows ? dims[row_axis] : 1, columns ? dims[column_axis] : 1, {}, row_axis, column_axis};
  for (int64_t i = 0; i < out.rows * out.columns; ++i) out.factors.push_back(0.5 * static_cast<double>(i + 1));
  return out;
}

/// Element by element from the definition.
std::vector<float> by_definition(const Dims& dims, const std::vector<Scale>& scales, const Dims& permutation) {
  Dims result_dims;
  for (const int64_t from : permutation) result_dims.push_back(dims[static_cast<std::size_t>(from)]);
  const Dims strides = contiguous_strides(dims);
  std::vector<float> out;
  Dims index(dims.size(), 0);
  for (int64_t n = 0; n < element_count(dims); ++n) {
    int64_t rest = n;
    for (std::size_t d = dims.size(); d-- > 0;) {
      index[static_cast<std::size_t>(permutation[d])] = rest % result_dims[d];
      rest /= result_dims[d];
    }
    double factor = 1;
    for (const Scale& scale : scales) factor *= scale.at(index[scale.row_axis], index[scale.column_axis]);
    const int64_t element = std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
    out.push_back(static_cast<float>(static_cast<double>(element + 1) * factor));
  }
  return out;
}

std::vector<float> whole(const TensorData& data) {
  const Tensor tensor = data.load();
  return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
}

/// The elements, read two rows at a time.
std::vector<float> in_rows(const TensorData& data) {
  const int64_t rows = data.dims()[0];
  const auto row = static_cast<std::size_t>(element_count(data.dims()) / rows);
  std::vector<float> out(row * static_cast<std::size_t>(rows));
  for (int64_t at = 0; at < rows; at += 2) {
    const int64_t count = std::min<int64_t>(2, rows - at);
    const std::span<float> part(out.data() + static_cast<std::size_t>(at) * row, static_cast<std::size_t>(count) * row);
    data.read_rows(at, count, std::as_writable_bytes(part));
  }
  return out;
}

TEST(ScaledData, FactorsOverAnyTwoDimsUnderAnyPermutation) {
  Dims permutation = {0, 1, 2, 3};
  do {
    for (const auto& [row_axis, column_axis] : {std::pair{0U, 1U}, {1U, 0U}, {3U, 0U}, {2U, 3U}}) {
      for (const int which : {1, 2, 3}) {
        const Scale scale = factors_over(kDims, row_axis, column_axis, (which & 1) != 0, (which & 2) != 0);
        const TensorData data = counting(kDims).scaled(scale).permuted(permutation);
        const auto expected = by_definition(kDims, {scale}, permutation);
        ASSERT_EQ(whole(data), expected);
        ASSERT_EQ(in_rows(data), expected);
      }
    }
  } while (std::ranges::next_permutation(permutation).found);
}

TEST(ScaledData, FactorsReferToTheResultsDims) {
  const Dims permutation = {3, 2, 0, 1};  // [5, 2, 3, 4]: as weights from TensorFlow
  const TensorData permuted = counting(kDims).permuted(permutation);
  const Scale rows{5, 1, {1, 2, 3, 4, 5}};
  const Scale as_source{5, 1, {1, 2, 3, 4, 5}, 3, 1};
  EXPECT_EQ(whole(permuted.scaled(rows)), by_definition(kDims, {as_source}, permutation));
}

TEST(ScaledData, FactorsComposeInDouble) {
  const Scale rows = factors_over(kDims, 0, 1, true, false);
  const Scale columns = factors_over(kDims, 0, 1, false, true);
  const Scale swapped = factors_over(kDims, 1, 0, true, true);
  EXPECT_EQ(whole(counting(kDims).scaled(rows).scaled(columns).scaled(swapped)),
            by_definition(kDims, {rows, columns, swapped}, {0, 1, 2, 3}));
  const TensorData third{DataType::float32, {1}, counting({1}).source()};
  EXPECT_EQ(whole(third.scaled({1, 1, {1.0 / 3}}).scaled({1, 1, {3.0}})), std::vector<float>{1.0F});
}

TEST(ScaledData, FactorsAlongThreeDims) {
  const Scale both = factors_over(kDims, 0, 1, true, true);
  const Scale third = factors_over(kDims, 2, 3, true, false);
  EXPECT_EQ(whole(counting(kDims).scaled(both).scaled(third)), by_definition(kDims, {both, third}, {0, 1, 2, 3}));
}

/// [4, 2, 3] of ones except for row 2, which is `odd`.
TensorData one_odd_row(float odd) {
  std::string bytes;
  for (int64_t i = 0; i < 24; ++i) {
    const float value = i / 6 == 2 ? odd : 1.0F;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return {DataType::float32, {4, 2, 3}, Bytes::owned(bytes)};
}

Scale assumed(std::vector<double> factors) {
  Scale out{static_cast<int64_t>(factors.size()), 1, std::move(factors)};
  out.is_assumed = true;
  return out;
}

TEST(ScaledData, AssumedFactorsAreCheckedRowByRow) {
  for (const auto& [odd, factor] : {std::pair{3e38F, 2.0}, {1e30F, 1e10}, {1e-20F, 1e-20}, {2e-38F, 0.5}}) {
    const TensorData data = one_odd_row(odd).scaled(assumed({1, 1, factor, 1}));
    std::vector<float> rows(12);
    data.read_rows(0, 2, std::as_writable_bytes(std::span(rows)));
    EXPECT_THROW(data.read_rows(2, 2, std::as_writable_bytes(std::span(rows))), OutOfRange) << odd;
    EXPECT_THROW(static_cast<void>(data.permuted(Dims{0, 2, 1}).load()), OutOfRange) << odd;
    EXPECT_NO_THROW(static_cast<void>(one_odd_row(odd).scaled(assumed({factor, 1, 1, factor})).load())) << odd;
  }
}

TEST(ScaledData, FactorsOfZeroAndElementsThatWereOutOfRangeAlready) {
  EXPECT_NO_THROW(static_cast<void>(one_odd_row(1).scaled(assumed({1, 1, 0, 1})).load()));
  EXPECT_NO_THROW(static_cast<void>(one_odd_row(std::numeric_limits<float>::infinity()).scaled(assumed({1, 1, 2, 1})).load()));
  EXPECT_NO_THROW(static_cast<void>(one_odd_row(1e-39F).scaled(assumed({1, 1, 0.5, 1})).load()));
}

TEST(ScaledData, EachAssumptionHoldsByItself) {
  // 3e38 · 2 is out of range, 3e38 · 2 · 0.25 is not: the first factor alone was assumed to fit.
  const TensorData both = one_odd_row(3e38F).scaled(assumed({1, 1, 2, 1})).scaled(assumed({1, 1, 0.25, 1}));
  EXPECT_THROW(static_cast<void>(both.load()), OutOfRange);
  EXPECT_NO_THROW(static_cast<void>(one_odd_row(3e38F).scaled(assumed({1, 1, 0.25, 1})).scaled(assumed({1, 1, 2, 1})).load()));
}

TEST(ScaledData, FactorsCannotBeAssumedForDataNotReadByRows) {
  const TensorData data = one_odd_row(1);
  EXPECT_TRUE(data.can_assume(Scale{4, 1, {1, 2, 3, 4}}));
  EXPECT_TRUE(data.can_assume(Scale{1, 1, {2}}));
  EXPECT_FALSE(data.can_assume(Scale{1, 2, {1, 2}}));
  EXPECT_FALSE(data.permuted(Dims{0, 2, 1}).can_assume(Scale{4, 1, {1, 2, 3, 4}}));
  EXPECT_FALSE(data.converted(DataType::float16).can_assume(Scale{4, 1, {1, 2, 3, 4}}));
  // Rows become columns: no caller could examine a whole one.
  EXPECT_THROW(static_cast<void>(data.scaled(assumed({1, 1, 1, 1})).permuted(Dims{1, 0, 2}).load()), OutOfRange);
}

TEST(ScaledData, FactorsThatDoNotFitAreRefused) {
  EXPECT_THROW(
      static_cast<void>(counting(kDims).scaled({kDims[0] + 1, 1, std::vector<double>(static_cast<std::size_t>(kDims[0]) + 1, 2.0)})),
      Error);
}

}  // namespace
}  // namespace relayout
