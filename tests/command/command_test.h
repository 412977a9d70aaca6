#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/golden.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {

/// Runs the built program in a folder of its own.
class CommandTest : public testing::Test {
 protected:
  ProcessResult run(std::vector<std::string> arguments, ProcessOptions options = {}) {
    arguments.insert(arguments.begin(), program());
    if (options.directory.empty()) options.directory = folder_.path();
    return run_process(arguments, options);
  }

  static std::string golden(const std::string& name) { return source_folder() + "/testdata/golden/" + name; }

  TemporaryFolder folder_;
};

/// The contract of a refusal: its exit code, nothing on standard output, and one line on standard error, after any warnings, that begins
/// with "relayout: " and contains no control character.
inline void expect_refusal(const ProcessResult& result, int code, const std::string& says) {
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.out, "");
  std::string line = result.err;
  while (line.starts_with("relayout: warning: ")) line.erase(0, line.find('\n') + 1);
  EXPECT_TRUE(line.starts_with("relayout: ")) << result.err;
  EXPECT_EQ(line_count(line), 1U) << result.err;
  EXPECT_THAT(line, testing::HasSubstr(says));
  for (const char c : result.err) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "control character in: " << result.err;
    if (c != '\n' && static_cast<unsigned char>(c) < 0x20) break;
  }
  EXPECT_LT(result.err.size(), 2000U);
}

}  // namespace relayout::test
