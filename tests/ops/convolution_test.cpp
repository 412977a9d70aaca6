#include "ops/kernels/convolution.h"

#include <gtest/gtest.h>

#include "relayout/types.h"

namespace relayout::test {
namespace {

/// The contents of `size` floats after 1, 2, 3 … were written to positions 0, 1, 2 … of a channel.
std::vector<float> written(const Dims& dims, const Dims& strides, std::size_t size) {
  std::vector<float> out(size, 0.0F);
  const std::array<double, 4> values = {1, 2, 3, 4};
  ChannelWriter(DataType::float32, dims, strides).write(reinterpret_cast<std::byte*>(out.data()), 0, element_count(dims), values.data());
  return out;
}

TEST(ChannelWriter, DimsOfOneDoNotCount) {
  // Like one phase of a transposed convolution of stride 2 along a dim with one position of this phase.
  EXPECT_EQ(written({2, 1, 2}, {6, 6, 1}, 8), (std::vector<float>{1, 2, 0, 0, 0, 0, 3, 4}));
  EXPECT_EQ(written({2, 2, 1}, {4, 2, 5}, 7), (std::vector<float>{1, 0, 2, 0, 3, 0, 4}));
  EXPECT_EQ(written({1, 1}, {7, 9}, 1), (std::vector<float>{1}));
}

TEST(ChannelWriter, LinesWithGaps) {
  EXPECT_EQ(written({2, 2}, {3, 1}, 5), (std::vector<float>{1, 2, 0, 3, 4}));
  EXPECT_EQ(written({4}, {2}, 7), (std::vector<float>{1, 0, 2, 0, 3, 0, 4}));
}

}  // namespace
}  // namespace relayout::test
