#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/axis_order.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using ::testing::ElementsAre;

TEST(Permutation, ChannelsLastOfEachRank) {
  EXPECT_THAT(layout::to_channels_last(3), ElementsAre(0, 2, 1));
  EXPECT_THAT(layout::to_channels_last(4), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(layout::to_channels_last(5), ElementsAre(0, 2, 3, 4, 1));
  EXPECT_THAT(layout::from_channels_last(4), ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(layout::from_channels_last(5), ElementsAre(0, 4, 1, 2, 3));
}

TEST(Permutation, InverseUndoes) {
  EXPECT_THAT(layout::inverse(Dims{3, 2, 0, 1}), ElementsAre(2, 3, 1, 0));
  for (std::size_t rank = 3; rank < 7; ++rank)
    EXPECT_EQ(layout::inverse(layout::inverse(layout::to_channels_last(rank))), layout::to_channels_last(rank));
}

TEST(Permutation, L5To11BothLayouts) {
  for (const Dims& dims : {Dims{6, 1, 3, 5}, {6, 5, 1, 1}, {64, 1, 3, 3}, {0, 7, 3, 3}, {5, 0, 3, 3}})
    EXPECT_TRUE(layout::is_both_layouts(dims)) << to_string(dims);
  for (const Dims& dims : {Dims{5, 7, 3, 2}, {6, 5, 1, 3}, {6, 5, 3, 1}, {1, 7, 3, 2}, {5, 7, 3}})
    EXPECT_FALSE(layout::is_both_layouts(dims)) << to_string(dims);
}

TEST(Permutation, OfATranspose) {
  const auto model =
      TextModel(
          "g (float[2,3,4] x) => (a, b, c) { a = Transpose (x)  b = Transpose <perm = [0,2,1]> (x)  c = Transpose <perm = [0,2,2]> (x) }")
          .load();
  auto node = model->graph().nodes().begin();
  EXPECT_EQ(layout::permutation_of(*node, 3), (Dims{2, 1, 0}));
  EXPECT_EQ(layout::permutation_of(*++node, 3), (Dims{0, 2, 1}));
  EXPECT_EQ(layout::permutation_of(*node, 4), std::nullopt);
  EXPECT_EQ(layout::permutation_of(*++node, 3), std::nullopt);
}

TEST(Permutation, L24To26TypesByOpset) {
  using enum DataType;
  EXPECT_TRUE(layout::is_transposable(float32, 1));
  EXPECT_TRUE(layout::is_transposable(float16, 1));
  EXPECT_FALSE(layout::is_transposable(bfloat16, 12));
  EXPECT_TRUE(layout::is_transposable(bfloat16, 13));
  EXPECT_FALSE(layout::is_transposable(int4, 20));
  EXPECT_TRUE(layout::is_transposable(int4, 21));
  EXPECT_FALSE(layout::is_transposable(float8e4m3fn, 20));
  EXPECT_TRUE(layout::is_transposable(float8e4m3fn, 21));
  EXPECT_FALSE(layout::is_transposable(undefined, 21));
}

}  // namespace
}  // namespace relayout::test
