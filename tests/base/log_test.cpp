#include "base/log.h"

#include <gtest/gtest.h>

namespace relayout {
namespace {

std::string printed(LogLevel level) {
  set_log_level(level);
  testing::internal::CaptureStderr();
  log_warning("weights {} 100 %");
  log_detail("stage");
  log_time("load", 0.041236);
  set_log_level(LogLevel::normal);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, LevelsDecideWhatIsPrinted) {
  EXPECT_EQ(printed(LogLevel::quiet), "");
  EXPECT_EQ(printed(LogLevel::normal), "relayout: warning: weights {} 100 %\n");
  EXPECT_EQ(printed(LogLevel::verbose), "relayout: warning: weights {} 100 %\nrelayout: stage\nrelayout: load: 41.24 ms\n");
}

TEST(Log, HeldWarningsAreKept) {
  testing::internal::CaptureStderr();
  std::vector<std::string> held;
  {
    HeldWarnings warnings;
    log_warning("first");
    log_warning("second");
    held = warnings.take();
  }
  log_warning("third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "relayout: warning: third\n");
  EXPECT_EQ(held, (std::vector<std::string>{"first", "second"}));
}

TEST(Log, MutedWarningsAreNotPrinted) {
  testing::internal::CaptureStderr();
  {
    const MutedWarnings muted;
    log_warning("again");
  }
  log_warning("new");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "relayout: warning: new\n");
}

}  // namespace
}  // namespace relayout
