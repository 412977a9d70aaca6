#include <gtest/gtest.h>

#include <csignal>

#include "suite/suite.h"

namespace relayout {
namespace {

constexpr double kLong = 60;

ChildResult shell(const std::string& script, double timeout = kLong) {
  return run_child({"/bin/sh", "-c", script}, timeout);
}

TEST(Child, ReturnsItsOutputAndExitCode) {
  const ChildResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out);
}

TEST(Child, ReturnsTheSignalThatEndedIt) {
  const ChildResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.code, -1);
}

TEST(Child, IsKilledWhenItTakesTooLong) {
  const ChildResult result = shell("echo begun; exec sleep 60", 0.3);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.out, "begun\n");
  EXPECT_LT(result.seconds, 30);
}

TEST(Child, IsKilledWhenItTakesTooLongAfterClosingItsOutput) {
  EXPECT_TRUE(shell("exec sleep 60 >/dev/null 2>&1 <&-", 0.3).timed_out);
}

TEST(Child, MayPrintMoreThanAPipeHolds) {
  EXPECT_EQ(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2").out.size(), 1'000'000U);
}

TEST(Child, HasEmptyStandardInput) {
  EXPECT_EQ(shell("cat; echo end").out, "end\n");
}

TEST(Child, ThatIsNoProgramEndsWithExitCode127) {
  EXPECT_EQ(run_child({"/nowhere/program"}, kLong).code, 127);
}

}  // namespace
}  // namespace relayout
