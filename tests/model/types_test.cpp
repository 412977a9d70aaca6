#include "relayout/types.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "relayout/error.h"

namespace relayout {
namespace {

TEST(Types, NumbersAreThoseOfOnnx) {
  EXPECT_EQ(static_cast<int>(DataType::float32), onnx::TensorProto::FLOAT);
  EXPECT_EQ(static_cast<int>(DataType::string), onnx::TensorProto::STRING);
  EXPECT_EQ(static_cast<int>(DataType::bfloat16), onnx::TensorProto::BFLOAT16);
  EXPECT_EQ(static_cast<int>(DataType::int4), onnx::TensorProto::INT4);
}

TEST(Types, UnknownNumbersHaveNoTraits) {
  for (const int32_t number : {0, -1, 27, 9999, INT32_MIN, INT32_MAX}) EXPECT_EQ(find_traits(number), nullptr);
  ASSERT_NE(find_traits(1), nullptr);
  EXPECT_EQ(find_traits(1)->bits, 32);
}

TEST(Types, SignsAndFractions) {
  EXPECT_TRUE(traits(DataType::int2).is_signed);
  EXPECT_FALSE(traits(DataType::uint64).is_signed);
  EXPECT_FALSE(traits(DataType::float32).is_signed);
  EXPECT_EQ(traits(DataType::float64).fraction_bits, 52);
  EXPECT_EQ(traits(DataType::float32).fraction_bits, 23);
  EXPECT_EQ(traits(DataType::float16).fraction_bits, 10);
  EXPECT_EQ(traits(DataType::bfloat16).fraction_bits, 7);
  EXPECT_EQ(traits(DataType::float8e4m3fnuz).fraction_bits, 3);
  EXPECT_EQ(traits(DataType::float8e5m2).fraction_bits, 2);
}

TEST(Types, ElementCount) {
  EXPECT_EQ(element_count(Dims{}), 1);
  EXPECT_EQ(element_count(Dims{2, 3, 5}), 30);
  EXPECT_EQ(element_count(Dims{2, 0, 5}), 0);
}

TEST(Types, ElementCountRefusesOverflowAndNegativeDims) {
  EXPECT_THROW((void)element_count(Dims{int64_t{1} << 62, 4}), Error);
  EXPECT_THROW((void)element_count(Dims{3, -1}), Error);
  EXPECT_THROW((void)element_count(Dims{0, int64_t{1} << 62, 4}), Error);
}

TEST(Types, PackedByteSizeRoundsSmallTypesUp) {
  EXPECT_EQ(packed_byte_size(DataType::int4, 3), 2);
  EXPECT_EQ(packed_byte_size(DataType::float16, 3), 6);
  EXPECT_EQ(packed_byte_size(DataType::boolean, 3), 3);
  EXPECT_THROW((void)packed_byte_size(DataType::float64, int64_t{1} << 60), Error);
}

TEST(Types, ContiguousStrides) {
  EXPECT_EQ(contiguous_strides(Dims{2, 3, 5}), (Dims{15, 5, 1}));
  EXPECT_EQ(contiguous_strides(Dims{}), (Dims{}));
}

}  // namespace
}  // namespace relayout
