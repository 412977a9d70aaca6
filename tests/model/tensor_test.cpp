#include "relayout/tensor.h"

#include <gtest/gtest.h>

#include <utility>

#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout {
namespace {

template <class T>
Tensor iota(DataType type, Dims dims) {
  Tensor tensor(type, std::move(dims));
  for (int64_t i = 0; i < tensor.element_count(); ++i) tensor.data<T>()[i] = static_cast<T>(i);
  return tensor;
}

TEST(Tensor, EmptyHandle) {
  EXPECT_FALSE(Tensor());
  EXPECT_TRUE(Tensor(DataType::float32, {0}));
}

TEST(Tensor, StorageIsAlignedAndCopiesShareIt) {
  Tensor tensor(DataType::float32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes()) % 64, 0U);
  const Tensor copy = tensor;
  tensor.data<float>()[4] = 7;
  EXPECT_EQ(copy.data<float>()[4], 7);
}

template <class T>
void expect_transposed_copy(DataType type) {
  const Tensor source = iota<T>(type, {2, 3, 5});
  const Tensor view = source.transposed(Dims{2, 0, 1});
  ASSERT_EQ(view.dims(), (Dims{5, 2, 3}));
  EXPECT_FALSE(view.is_contiguous());
  const Tensor dense = contiguous(view);
  ASSERT_TRUE(dense.is_contiguous());
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(dense.data<T>()[(i * 2 + j) * 3 + k], source.data<T>()[(j * 3 + k) * 5 + i]);
    }
  }
}

TEST(Tensor, ContiguousCopiesEveryElementSize) {
  expect_transposed_copy<uint8_t>(DataType::uint8);
  expect_transposed_copy<uint16_t>(DataType::float16);
  expect_transposed_copy<int32_t>(DataType::int32);
  expect_transposed_copy<double>(DataType::float64);
}

TEST(Tensor, ContiguousCopiesStrings) {
  Tensor source(DataType::string, {2, 2});
  for (int i = 0; i < 4; ++i) source.data<std::string>()[i] = std::string(40, static_cast<char>('a' + i));
  const Tensor dense = contiguous(source.transposed(Dims{1, 0}));
  EXPECT_EQ(dense.data<std::string>()[1], std::string(40, 'c'));
}

TEST(Tensor, BroadcastAndNegativeStrides) {
  const Tensor source = iota<int32_t>(DataType::int32, {3});
  const Tensor rows = contiguous(source.view({2, 3}, {0, -1}, 2));
  const int32_t expected[] = {2, 1, 0, 2, 1, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(rows.data<int32_t>()[i], expected[i]);
}

TEST(Tensor, StridesOfUnitAndEmptyDimsDoNotMatter) {
  const Tensor source = iota<float>(DataType::float32, {4});
  EXPECT_TRUE(source.view({1, 4, 1}, {99, 1, 77}).is_contiguous());
  EXPECT_TRUE(source.view({2, 0, 3}, {5, 5, 5}).is_contiguous());
  EXPECT_TRUE(source.view({}, {}).is_contiguous());
}

TEST(Tensor, DescOfChannelsLastReachesOnlyItsElements) {
  const Tensor tensor(TensorDesc{DataType::float32, {1, 3, 2, 2}, {12, 1, 6, 3}});
  EXPECT_FALSE(tensor.is_contiguous());
  EXPECT_EQ(tensor.element_count(), 12);
}

TEST(Datum, InfoOfTensorAndSequence) {
  const Datum tensor(iota<float>(DataType::float32, {2, 3}));
  const DatumInfo info = info_of(tensor);
  EXPECT_EQ(info.dims, (Dims{2, 3}));
  EXPECT_EQ(info.value, &tensor.tensor);
  Datum sequence;
  sequence.kind = Datum::Kind::sequence;
  sequence.elements = {tensor, tensor};
  const DatumInfo elements = info_of(sequence);
  EXPECT_EQ(elements.type, DataType::float32);
  EXPECT_EQ(elements.elements.size(), 2U);
}

}  // namespace
}  // namespace relayout
