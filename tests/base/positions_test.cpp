// Tests positions counted in int64_t in containers that count in std::size_t.
#include "base/positions.h"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

namespace relayout {
namespace {

static_assert(std::is_same_v<decltype(element_at(std::declval<std::vector<int>&>(), 0)), int&>);
static_assert(std::is_same_v<decltype(element_at(std::declval<const std::vector<int>&>(), 0)), const int&>);
static_assert(as_size(int64_t{1} << 40) == std::size_t{1} << 40);

TEST(Positions, ElementsAreReadAndWritten) {
  std::vector<bool> flags(3);
  element_at(flags, int64_t{2}) = true;
  EXPECT_EQ(flags, (std::vector<bool>{false, false, true}));
  const std::array<int, 3> numbers{4, 5, 6};
  EXPECT_EQ(element_at(numbers, 1), 5);
}

TEST(Positions, AxesCountFromEitherEnd) {
  EXPECT_EQ(from_front(2, 4), 2);
  EXPECT_EQ(from_front(-1, 4), 3);
  EXPECT_EQ(from_front(-5, 4), -1);
  EXPECT_EQ(checked_axis(3, 4), 3U);
  EXPECT_EQ(checked_axis(-4, 4), 0U);
  for (const int64_t axis : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) EXPECT_EQ(checked_axis(axis, 4), std::nullopt) << axis;
  EXPECT_EQ(checked_axis(0, 0), std::nullopt);
}

TEST(Positions, TheFirstOfEqualElementsIsFound) {
  const std::vector<int> numbers{7, 3, 7, 3};
  EXPECT_EQ(find_position(numbers, 3), 1U);
  EXPECT_EQ(find_position(numbers, 7), 0U);
  EXPECT_EQ(find_position(numbers, 1), numbers.size());
}

}  // namespace
}  // namespace relayout
