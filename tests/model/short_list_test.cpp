// Tests lists that hold their first elements themselves against std::vector.
#include "relayout/short_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace relayout {
namespace {

template <std::size_t kFew>
void check_against_vector() {
  std::mt19937 random(1);
  ShortList<int, kFew> list;
  std::vector<int> expected;
  for (int step = 0; step < 3000; ++step) {
    const auto number = static_cast<int>(random() % 1000);
    const auto what = random() % 32;
    if (what == 0) {
      list.clear();
      expected.clear();
    } else if (what == 1) {
      list.assign(random() % 5, number);
      expected.assign(list.size(), number);
    } else if (what < 12 && !expected.empty()) {
      list.pop_back();
      expected.pop_back();
    } else if (what < 16 && !expected.empty()) {
      list[random() % expected.size()] = number;
      expected.assign(list.begin(), list.end());
    } else {
      list.push_back(number);
      expected.push_back(number);
    }
    ASSERT_EQ(list.size(), expected.size());
    ASSERT_EQ(list.empty(), expected.empty());
    ASSERT_TRUE(std::ranges::equal(list, expected));
  }
}

TEST(ShortList, BehavesAsAVector) {
  check_against_vector<1>();
  check_against_vector<2>();
  check_against_vector<7>();
}

TEST(ShortList, TakesItsOwnElementsWhileItGrows) {
  ShortList<std::size_t, 2> list;
  list.push_back(17);
  for (int i = 0; i < 20; ++i) list.push_back(list.front());
  EXPECT_EQ(std::ranges::count(list, std::size_t{17}), 21);
  EXPECT_EQ(list.back(), 17U);
}

TEST(ShortList, NeedsNoMemoryForAFewElements) {
  ShortList<void*, 3> list;
  const auto holds = [&] {
    const auto* const begin = reinterpret_cast<const std::byte*>(&list);
    const auto* const data = reinterpret_cast<const std::byte*>(list.data());
    return data >= begin && data < begin + sizeof list;
  };
  for (int i = 0; i < 3; ++i) list.push_back(&list);
  EXPECT_TRUE(holds());
  list.push_back(nullptr);
  EXPECT_FALSE(holds());
  EXPECT_EQ(list[2], &list);
}

}  // namespace
}  // namespace relayout
