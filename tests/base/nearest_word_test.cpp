#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace relayout {
namespace {

TEST(NearestWord, IsFewestEditsAway) {
  constexpr std::array<std::string_view, 3> kWords = {"convert", "verify", "inspect"};
  EXPECT_EQ(nearest_word("convrt", kWords), "convert");
  EXPECT_EQ(nearest_word("inspekt", kWords), "inspect");
  // Dashes are not letters: an option is as far from another as its word.
  EXPECT_EQ(nearest_word("--verison", std::to_array<std::string_view>({"--verbose", "--version"})), "--version");
  EXPECT_EQ(nearest_word("--garbage", std::to_array<std::string_view>({"--verbose"})), "");
  EXPECT_EQ(nearest_word("zzzzzzzzz", kWords), "");
}

}  // namespace
}  // namespace relayout
