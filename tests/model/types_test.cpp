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
