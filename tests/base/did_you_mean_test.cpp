#include <gtest/gtest.h>

#include "base/text.h"

namespace relayout {
namespace {

TEST(DidYouMean, TheWordThatIsFewestEditsAway) {
  const std::vector<std::string> words = {"convert", "verify", "inspect"};
  EXPECT_EQ(did_you_mean("convrt", words), "did you mean 'convert'?");
  EXPECT_EQ(did_you_mean("inspekt", words, "; "), "; did you mean 'inspect'?");
  // Dashes do not count: the distance between two options is that of their words.
  EXPECT_EQ(did_you_mean("--verison", {"--verbose", "--version"}), "did you mean '--version'?");
  EXPECT_EQ(did_you_mean("--garbage", {"--verbose"}), "");
  EXPECT_EQ(did_you_mean("zzzzzzzzz", words, "; "), "");
}

}  // namespace
}  // namespace relayout
