#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "relayout/error.h"

namespace relayout {
namespace {

/// Runs in a child process, because the handlers stay installed for the life of a process.
void raise_and_check(int signal) {
  install_interrupt_handlers();
  check_interrupt();
  std::raise(signal);
  try {
    check_interrupt();
  } catch (const Error& error) {
    std::_Exit(exit_code(error.kind()));
  }
  std::_Exit(0);
}

TEST(InterruptDeathTest, SignalsBecomeErrorsAtTheNextCheck) {
  EXPECT_EXIT(raise_and_check(SIGINT), ::testing::ExitedWithCode(130), "");
  EXPECT_EXIT(raise_and_check(SIGTERM), ::testing::ExitedWithCode(143), "");
}

TEST(InterruptDeathTest, ASecondSignalEndsAtOnce) {
  const auto twice = [] {
    install_interrupt_handlers();
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace relayout
