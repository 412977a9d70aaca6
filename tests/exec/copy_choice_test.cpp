// Tests which copies oneDNN makes, and which relayout's own kernel makes.
#include <gtest/gtest.h>

#include "exec/lower/fuse.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

std::string copier(const TensorDesc& from) {
  const TensorDesc to = ordered(from.type, from.dims, Order::channels_last);
  return choose_copy(from, to, {&primitive_library(), 1})->implementation();
}

TensorDesc image(Dims dims, DataType type = DataType::float32) {
  return ordered(type, std::move(dims), Order::contiguous);
}

TEST(CopyChoice, OneDnnCopiesLargeImagesOfManyChannels) {
  EXPECT_NE(copier(image({1, 8, 32, 32})), "copy");
  EXPECT_NE(copier(image({1, 5, 32, 32})), "copy");
}

TEST(CopyChoice, OwnKernelCopiesTheOthers) {
  EXPECT_EQ(copier(image({1, 4, 32, 64})), "copy") << "few channels";
  EXPECT_EQ(copier(image({1, 8, 16, 32})), "copy") << "16 KiB";
  EXPECT_EQ(copier(image({1, 8, 32, 32}, DataType::int32)), "copy") << "not f32";
  EXPECT_EQ(copier(image({64, 256})), "copy") << "two dims";
  EXPECT_EQ(copier({DataType::float32, {1, 8, 32, 32}, {0, 0, 32, 1}}), "copy") << "a repeated dim";
  const TensorDesc large = image({1, 8, 32, 32});
  EXPECT_EQ(choose_copy(large, ordered(large.type, large.dims, Order::channels_last), {})->implementation(), "copy") << "no library";
}

}  // namespace
}  // namespace relayout::exec
