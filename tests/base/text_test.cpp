#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace relayout {
namespace {

TEST(Text, EscapeLeavesOrdinaryNamesAlone) {
  EXPECT_EQ(escape("layer1/conv.weight größe 層"), "layer1/conv.weight größe 層");
}

TEST(Text, EscapeShowsControlCharactersAndInvalidUtf8) {
  EXPECT_EQ(escape("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(escape("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(escape("\xc2\x9b"), "\\xc2\\x9b");           // a C1 control character
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");  // overlong
}

TEST(Text, EscapeKeepsBothEndsOfTwoHundredCharacters) {
  std::string half;
  for (int i = 0; i < 100; ++i) half += "ü";
  EXPECT_EQ(escape(half + half), half + half);
  EXPECT_EQ(escape(half + "xx" + half), half + "…" + half);
  EXPECT_EQ(escape(half + half + "/conv\n"), half + "…" + half.substr(12) + "/conv\\x0a");
}

TEST(Text, Quote) {
  EXPECT_EQ(quote("a\tb"), "'a\\x09b'");
}

TEST(Text, AsciiLower) {
  EXPECT_EQ(ascii_lower("C.UTF-8 [@Z`z] Ä"), "c.utf-8 [@z`z] Ä");
}

TEST(Text, SomeOfMany) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(some_of(names, 3, quote), "'a', 'b', 'c'");
  EXPECT_EQ(some_of(names, 2, quote), "'a', 'b' and 1 more");
  EXPECT_EQ(some_of(std::vector<std::string>(), 1, quote), "");
  EXPECT_EQ(some_of(std::vector<std::string>(2001, "x"), 1, escape), "x and 2,000 more");
}

TEST(Text, GlobMatch) {
  EXPECT_TRUE(glob_match("layer*/conv?", "layer1/block/conv2"));
  EXPECT_FALSE(glob_match("layer*/conv?", "layer1/conv10"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a[0-9]b", "a7b"));
  EXPECT_FALSE(glob_match("a[!0-9]b", "a7b"));
  EXPECT_TRUE(glob_match("a[!0-9]b", "axb"));
  EXPECT_TRUE(glob_match("a[]x]b", "a]b"));
  EXPECT_TRUE(glob_match("a[b", "a[b"));
  EXPECT_TRUE(glob_match("a\\b*", "a\\bc"));
  EXPECT_TRUE(glob_match("*", ".hidden/x"));
  EXPECT_FALSE(glob_match("", "a"));
}

TEST(Text, GlobMatchOfManyStarsIsNotExponential) {
  std::string glob;
  for (int i = 0; i < 40; ++i) glob += "*a";
  EXPECT_FALSE(glob_match(glob, std::string(5000, 'a') + "b"));
}

}  // namespace
}  // namespace relayout
