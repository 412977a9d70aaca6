#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

#include "base/log.h"
#include "cli/common/terminal.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;

/// The output on a terminal that is standard error while `work` runs.
std::string on_terminal(const std::function<void()>& work) {
  int outer = -1, inner = -1;
  if (openpty(&outer, &inner, nullptr, nullptr, nullptr) != 0) ADD_FAILURE() << "no terminal";
  const int saved = dup(STDERR_FILENO);
  dup2(inner, STDERR_FILENO);
  work();
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(inner);
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(outer, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(got));
  close(outer);
  return out;
}

void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(Progress, ShortWorkIsSilent) {
  EXPECT_EQ(on_terminal([] {
              Progress progress;
              for (int i = 0; i < 100; ++i) progress.bytes("writing", i, 100);
            }),
            "");
}

TEST(Progress, LongWorkShowsALineAndErasesIt) {
  const std::string shown = on_terminal([] {
    Progress progress;
    wait(550);
    progress.bytes("writing", 1'200'000'000, 1'900'000'000);
    progress.bytes("writing", 1'300'000'000, 1'900'000'000);  // too soon after the other
  });
  EXPECT_THAT(shown, HasSubstr("\rwriting ███████████████░░░░░░░░░ 63 %  1.2 GB of 1.9 GB"));
  EXPECT_EQ(shown.find("1.3 GB"), std::string::npos);
  EXPECT_TRUE(shown.ends_with("\r\x1b[K"));
}

TEST(Progress, StepsAreCounted) {
  const std::string shown = on_terminal([] {
    Progress progress;
    wait(550);
    progress.steps("candidate", 2, 4);
  });
  EXPECT_THAT(shown, HasSubstr("candidate ████████████░░░░░░░░░░░░ 50 %  2 of 4"));
}

TEST(Progress, QuietAndPipesAreSilent) {
  set_log_level(LogLevel::quiet);
  EXPECT_EQ(on_terminal([] {
              Progress progress;
              wait(550);
              progress.bytes("writing", 1, 2);
            }),
            "");
  set_log_level(LogLevel::normal);
  testing::internal::CaptureStderr();
  {
    Progress progress;
    wait(550);
    progress.bytes("writing", 1, 2);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace relayout::cli
