#include <gtest/gtest.h>

#include "report/table.h"

namespace relayout {
namespace {

TEST(DisplayWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("σ × 2 …"), 7U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);         // e and a combining acute accent
  EXPECT_EQ(display_width("\xE5\xB1\xA4"), 2U);      // one CJK ideograph
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2U);  // an emoji
}

TEST(DisplayWidth, CountsBytesThatAreNoCharacter) {
  EXPECT_EQ(display_width("\xC3"), 1U);                       // cut short
  EXPECT_EQ(display_width("a\xFFz"), 3U);                     // never a first byte
  EXPECT_EQ(display_width("\xE5\xB1z"), 3U);                  // a character that breaks off
  EXPECT_EQ(display_width(std::string("\xED\xA0\x80")), 3U);  // a surrogate
}

}  // namespace
}  // namespace relayout
