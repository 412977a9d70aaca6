#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "base/text.h"

namespace relayout {
namespace {

bool has_utf8(const std::map<std::string, std::string>& variables) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto found = variables.find(name);
    setenv(name, found == variables.end() ? "" : found->second.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  const bool result = locale_has_utf8();
  setenv("LC_ALL", "C.UTF-8", 1);  // NOLINT(concurrency-mt-unsafe)
  return result;
}

TEST(Locale, TheFirstVariableThatIsSetCounts) {
  EXPECT_FALSE(has_utf8({}));
  EXPECT_FALSE(has_utf8({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(has_utf8({{"LANG", "de_DE.UTF-8"}}));
  EXPECT_TRUE(has_utf8({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}));
  EXPECT_FALSE(has_utf8({{"LANG", "de_DE.ISO-8859-15"}}));
}

TEST(Locale, AsciiReplacesCharacters) {
  EXPECT_EQ(ascii_text("46.9 → 44.7 MB · 1.5 × …"), "46.9 -> 44.7 MB | 1.5 x ...");
  EXPECT_EQ(ascii_text("103 µs, −1, a › b ▍"), "103 us, -1, a > b -");
  EXPECT_EQ(ascii_text("größe"), "gr\\xc3\\xb6\\xc3\\x9fe");
  EXPECT_EQ(ascii_text("\x1b[1mplain\x1b[0m\n"), "\x1b[1mplain\x1b[0m\n");
}

}  // namespace
}  // namespace relayout
