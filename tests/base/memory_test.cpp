#include <gtest/gtest.h>

#include "base/machine.h"
#include "relayout/error.h"

namespace relayout::test {
namespace {

TEST(Memory, ExcessiveSizesAreNotRequested) {
  EXPECT_NO_THROW(require_memory(0));
  EXPECT_NO_THROW(require_memory(1 << 20));
  try {
    require_memory(int64_t{1} << 60);
    FAIL() << "an exabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

TEST(Memory, WholeLinesRoundUpWithoutOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(whole_lines(0), 0);
  EXPECT_EQ(whole_lines(1), kLineBytes);
  EXPECT_EQ(whole_lines(kLineBytes), kLineBytes);
  EXPECT_EQ(whole_lines(kLineBytes + 1), 2 * kLineBytes);
  EXPECT_EQ(whole_lines(kMost - kLineBytes + 1), kMost);
  EXPECT_EQ(whole_lines(kMost), kMost);
}

}  // namespace
}  // namespace relayout::test
