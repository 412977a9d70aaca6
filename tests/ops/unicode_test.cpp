#include <gtest/gtest.h>

#include "ops/kernels/regex.h"

namespace relayout {
namespace {

TEST(Utf8, IsDecodedAndEncoded) {
  const std::string text = "a\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80";
  EXPECT_EQ(decode_utf8(text), U"aé日😀");
  EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
}

TEST(Utf8, InvalidBytesRoundTrip) {
  // Overlong forms, surrogates, lone continuation bytes, cut sequences, beyond U+10FFFF.
  for (const std::string text : {"\xC0\xAF", "\xED\xA0\x80", "a\x80z", "\xE6\x97", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
  }
  EXPECT_EQ(decode_utf8("\xE6\x97").size(), 2U);
}

TEST(CaseMapping, IsUnicodesInEveryLocale) {
  EXPECT_EQ(to_upper('q'), U'Q');
  EXPECT_EQ(to_lower(U'Q'), U'q');
  EXPECT_EQ(to_upper(U'é'), U'É');
  EXPECT_EQ(to_lower(U'Ж'), U'ж');
  EXPECT_EQ(to_upper(U'1'), U'1');
}

}  // namespace
}  // namespace relayout
