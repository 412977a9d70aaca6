#include "model/tensor_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "base/file.h"
#include "base/half.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using testing::ElementsAre;

template <class T>
TensorData data_of(DataType type, const Dims& dims, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return {type, dims, Bytes::owned(std::vector<std::byte>(bytes, bytes + values.size() * sizeof(T)))};
}

TensorData counting(const Dims& dims) {
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  std::iota(values.begin(), values.end(), 1.0F);
  return data_of(DataType::float32, dims, values);
}

template <class T = float>
std::vector<T> loaded(const TensorData& data) {
  const Tensor tensor = data.load();
  return {tensor.data<T>(), tensor.data<T>() + tensor.element_count()};
}

/// The elements, read `at_once` rows at a time.
std::vector<float> by_rows(const TensorData& data, int64_t at_once) {
  const int64_t rows = data.dims()[0];
  const int64_t row = element_count(data.dims()) / rows;
  std::vector<float> out(static_cast<std::size_t>(rows * row));
  for (int64_t begin = 0; begin < rows; begin += at_once) {
    const int64_t count = std::min(at_once, rows - begin);
    auto part = std::span(out).subspan(static_cast<std::size_t>(begin * row), static_cast<std::size_t>(count * row));
    data.read_rows(begin, count, std::as_writable_bytes(part));
  }
  return out;
}

std::vector<float> by_pieces(const TensorData& data) {
  const int64_t rows = data.dims()[0];
  const int64_t row_bytes = data.byte_size() / rows;
  std::vector<float> out(static_cast<std::size_t>(element_count(data.dims())), NAN);
  for (int64_t row = 0; row < rows; ++row) {
    data.read_row_in_pieces(row, [&](int64_t offset, std::span<const std::byte> bytes) {
      std::memcpy(reinterpret_cast<std::byte*>(out.data()) + row * row_bytes + offset, bytes.data(), bytes.size());
    });
  }
  return out;
}

/// All ways of reading give the same elements.
void expect_contents(const TensorData& data, const std::vector<float>& expected) {
  EXPECT_EQ(loaded(data), expected);
  for (const int64_t at_once : {1, 2, 100}) EXPECT_EQ(by_rows(data, at_once), expected) << at_once << " rows at once";
  EXPECT_EQ(by_pieces(data), expected);
}

TEST(TensorData, PlainIsItsBytes) {
  const TensorData data = counting({2, 3});
  EXPECT_TRUE(data.is_plain());
  EXPECT_EQ(data.byte_size(), 24);
  expect_contents(data, {1, 2, 3, 4, 5, 6});
  EXPECT_THROW(TensorData(DataType::float32, {2}, Bytes::owned(std::string(7, 'x'))), Error);
}

TEST(TensorData, FactorsByRowByColumnAndBoth) {
  const TensorData data = counting({2, 3});
  expect_contents(data.scaled({2, 1, {10, 100}}), {10, 20, 30, 400, 500, 600});
  expect_contents(data.scaled({1, 3, {1, 10, 100}}), {1, 20, 300, 4, 50, 600});
  expect_contents(data.scaled({2, 3, {1, 2, 3, 4, 5, 6}}), {1, 4, 9, 16, 25, 36});
  expect_contents(data.scaled({1, 1, {2}}), {2, 4, 6, 8, 10, 12});
  expect_contents(data.scaled({2, 1, {10, 100}}).scaled({1, 3, {1, 0, 1}}), {10, 0, 30, 400, 0, 600});
}

TEST(TensorData, FactorsOverTheFirstTwoOfFourDims) {
  const TensorData data = counting({2, 2, 1, 2});
  expect_contents(data.scaled({2, 2, {1, 10, 100, 1000}}), {1, 2, 30, 40, 500, 600, 7000, 8000});
}

TEST(TensorData, PermutedIsTransposed) {
  const TensorData data = counting({2, 2, 3});
  const TensorData turned = data.permuted(Dims{0, 2, 1});
  EXPECT_THAT(turned.dims(), ElementsAre(2, 3, 2));
  expect_contents(turned, {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12});
  EXPECT_TRUE(turned.permuted(Dims{0, 2, 1}).is_plain());
  // Dim 0 moves: rows are gathered from all over the source.
  expect_contents(data.permuted(Dims{2, 0, 1}), {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12});
  expect_contents(data.permuted(Dims{1, 2, 0}), {1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12});
}

TEST(TensorData, FactorsBeforeAndAfterAPermutation) {
  const TensorData data = counting({2, 2, 3});
  const TensorData forward = data.scaled({2, 1, {1, 10}}).permuted(Dims{0, 2, 1});
  expect_contents(forward, {1, 4, 2, 5, 3, 6, 70, 100, 80, 110, 90, 120});
  expect_contents(data.permuted(Dims{0, 2, 1}).scaled({2, 1, {1, 10}}), loaded(forward));
  // The two leading dims change places: factors by row become factors by column of the source.
  const TensorData swapped = data.permuted(Dims{1, 0, 2});
  expect_contents(swapped.scaled({2, 1, {1, 10}}), {1, 2, 3, 7, 8, 9, 40, 50, 60, 100, 110, 120});
  expect_contents(swapped.scaled({2, 2, {1, 2, 3, 4}}), {1, 2, 3, 14, 16, 18, 12, 15, 18, 40, 44, 48});
  // Separated: the factors move with their dim.
  expect_contents(data.permuted(Dims{0, 2, 1}).scaled({1, 3, {1, 10, 100}}), {1, 4, 20, 50, 300, 600, 7, 10, 80, 110, 900, 1200});
  // Along three dims at once.
  expect_contents(data.scaled({2, 2, {1, 2, 3, 4}}).scaled({3, 1, {1, 2, 3}, 2, 0}), {1, 4, 9, 8, 20, 36, 21, 48, 81, 40, 88, 144});
}

TEST(TensorData, RowsOfManyPieces) {
  // Rows of 9 MiB: three pieces each; the factors change within a piece.
  const Dims dims{2, 9 * 64 * 1024, 4};
  const TensorData data = counting(dims);
  Scale scale{2, dims[1], {}};
  for (int64_t i = 0; i < 2 * dims[1]; ++i) scale.factors.push_back(static_cast<double>(i % 7));
  for (const TensorData& each : {data, data.scaled(scale), data.permuted(Dims{0, 2, 1}), data.scaled(scale).permuted(Dims{0, 2, 1})}) {
    EXPECT_TRUE(by_pieces(each) == loaded(each));
  }
}

TEST(TensorData, ADoubleProductIsRoundedOnce) {
  // 1.0000001 · (1 + 2^-26): in float the factor would be 1.
  const float value = 1.0F + 0x1p-23F;
  const double factor = 1.0 + 0x1p-24 + 0x1p-40;
  const auto expected = static_cast<float>(static_cast<double>(value) * factor);
  EXPECT_NE(expected, value);
  EXPECT_EQ(loaded(data_of<float>(DataType::float32, {1}, {value}).scaled({1, 1, {factor}}))[0], expected);
  const auto doubles = loaded<double>(data_of<double>(DataType::float64, {2}, {3, 5}).scaled({2, 1, {0.1, 0.3}}));
  EXPECT_THAT(doubles, ElementsAre(3 * 0.1, 5 * 0.3));
}

TEST(TensorData, SixteenBitTypes) {
  const std::vector<uint16_t> halves{0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x8001};  // 1, next, largest, inf, -smallest
  const auto scaled = loaded<uint16_t>(data_of(DataType::float16, {5}, halves).scaled({1, 1, {3.0}}));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    EXPECT_EQ(scaled[i], double_to_half(3.0 * static_cast<double>(half_to_float(halves[i])))) << i;
  }
  EXPECT_EQ(scaled[2], 0x7C00);
  const auto brain = loaded<uint16_t>(data_of<uint16_t>(DataType::bfloat16, {1}, {0x3F80}).scaled({1, 1, {1.5}}));
  EXPECT_EQ(brain[0], 0x3FC0);
}

TEST(TensorData, AFactorOfOneKeepsTheBits) {
  const uint32_t signaling = 0x7F800001;
  const auto bits = loaded<uint32_t>(data_of<uint32_t>(DataType::float32, {2, 1}, {signaling, signaling}).scaled({2, 1, {1, 2}}));
  EXPECT_EQ(bits[0], signaling);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits[1])));
}

TEST(TensorData, OnlyFloatsTakeFactors) {
  EXPECT_THROW((void)data_of<int32_t>(DataType::int32, {2}, {1, 2}).scaled({1, 1, {2}}), Error);
  EXPECT_EQ(loaded(data_of<float>(DataType::float32, {}, {1}).scaled({1, 1, {2}}))[0], 2);
  EXPECT_THROW((void)counting({2, 3}).scaled({3, 1, {1, 2, 3}}), Error);
  EXPECT_THROW((void)counting({2, 3}).permuted(Dims{0, 0}), Error);
  EXPECT_THROW((void)counting({2, 3}).permuted(Dims{0, 1, 2}), Error);
}

TEST(TensorData, ElementsOfFourAndTwoBits) {
  // -8 … 7, the first in the low half of a byte.
  const TensorData nibbles(DataType::int4, {2, 3}, Bytes::owned(std::string("\x21\xF3\x78", 3)));
  EXPECT_EQ(loaded<int8_t>(nibbles), (std::vector<int8_t>{1, 2, 3, -1, -8, 7}));
  EXPECT_EQ(loaded<int8_t>(nibbles.permuted(Dims{1, 0})), (std::vector<int8_t>{1, -1, 2, -8, 3, 7}));
  std::array<std::byte, 3> stored{};
  nibbles.permuted(Dims{1, 0}).read_rows(0, 3, stored);
  EXPECT_THAT(stored, ElementsAre(std::byte{0xF1}, std::byte{0x82}, std::byte{0x73}));
  std::array<std::byte, 1> part{};
  EXPECT_THROW(nibbles.read_rows(0, 1, part), Error);  // a row and a half byte
  const TensorData unsigned_ones(DataType::uint4, {3}, Bytes::owned(std::string("\xF8\x01", 2)));
  EXPECT_EQ(loaded<uint8_t>(unsigned_ones), (std::vector<uint8_t>{8, 15, 1}));
  const TensorData pairs(DataType::int2, {5}, Bytes::owned(std::string("\xE4\x03", 2)));  // 0, 1, 2, 3 and 3 unsigned
  EXPECT_EQ(loaded<int8_t>(pairs), (std::vector<int8_t>{0, 1, -2, -1, -1}));
  const TensorData even_rows(DataType::uint4, {2, 2, 2}, Bytes::owned(std::string("\x21\x43\x65\x87", 4)));
  std::array<std::byte, 2> row{};
  even_rows.permuted(Dims{0, 2, 1}).read_rows(1, 1, row);
  EXPECT_THAT(row, ElementsAre(std::byte{0x75}, std::byte{0x86}));
}

TEST(TensorData, ScalarsAndEmptyTensors) {
  expect_contents(counting({1}), {1});
  EXPECT_EQ(loaded(data_of<float>(DataType::float32, {}, {7}))[0], 7);
  const TensorData empty(DataType::float32, {2, 0, 3}, Bytes());
  EXPECT_EQ(empty.load().element_count(), 0);
  EXPECT_THAT(empty.permuted(Dims{2, 0, 1}).dims(), ElementsAre(3, 2, 0));
  empty.read_rows(0, 2, {});
}

TEST(Bytes, PartsShareAndStayInside) {
  const Bytes whole = Bytes::owned(std::string("0123456789"));
  const Bytes part = whole.part(2, 5).part(1, 3);
  std::array<std::byte, 3> out{};
  part.read(0, out);
  EXPECT_EQ(std::memcmp(out.data(), "345", 3), 0);
  EXPECT_EQ(part.memory().size(), 3U);
  EXPECT_THROW((void)whole.part(8, 3), Error);
  EXPECT_THROW(part.read(1, out), Error);
  const auto file = File::from_bytes("0123456789", "memory");
  Bytes::of_file(file, 4, 4).part(1, 3).read(0, out);
  EXPECT_EQ(std::memcmp(out.data(), "567", 3), 0);
  EXPECT_THROW((void)Bytes::of_file(file, 8, 3), Error);
  EXPECT_THROW((void)Bytes::of_file(file, INT64_MAX, 1), Error);
}

}  // namespace
}  // namespace relayout
