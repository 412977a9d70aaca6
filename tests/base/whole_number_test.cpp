// Tests whole numbers read from text.
#include <gtest/gtest.h>

#include <limits>

#include "base/numbers.h"

namespace relayout {
namespace {

TEST(WholeNumber, NothingButDigitsAndOneMinusIsANumber) {
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("-12"), -12);
  EXPECT_EQ(whole_number("007"), 7);
  for (const char* const text : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "one"}) EXPECT_EQ(whole_number(text), std::nullopt) << text;
}

TEST(WholeNumber, HasAtMost64Bits) {
  EXPECT_EQ(whole_number("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(whole_number("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(whole_number("9223372036854775808"), std::nullopt);
}

}  // namespace
}  // namespace relayout
