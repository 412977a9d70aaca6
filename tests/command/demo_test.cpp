// Tests `cmake/dev demo`, without its build: every command that it prints or that the program suggests runs as it is pasted.
#include <sstream>

#include "command/command_test.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(CommandTest, DemoPrintsCommandsThatCanBePasted) {
  const fs::path top = folder_ / "two words", elsewhere = folder_ / "elsewhere";
  fs::create_directories(top / "testdata");
  fs::create_directory(elsewhere);
  fs::copy(fs::path(source_folder()) / "testdata/resnet18_eighth", top / "testdata/resnet18_eighth", fs::copy_options::recursive);
  const std::string script =
      "eval \"$(sed -n '/^demo()/,/^}/p' '" + source_folder() + "/cmake/dev')\"; build() { :; }; preset=release; demo";
  const ProcessResult demo = run_process({"/bin/bash", "-euo", "pipefail", "-c", script},
                                         {.directory = elsewhere, .environment = {{"top", top.string()}, {"program", program()}}});
  ASSERT_EQ(demo.code, 0) << demo.out << demo.err;
  EXPECT_EQ(demo.out.find('\x1b'), std::string::npos) << "colours are for terminals:" << demo.out;
  std::string commands;
  std::istringstream lines(demo.out);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string title : {"$ ", "Next: ", "Before quantizing or pruning: "}) {
      if (line.starts_with(title)) commands += line.substr(title.size()) + "\n";
    }
  }
  EXPECT_THAT(commands, HasSubstr("relayout verify "));
  EXPECT_EQ(commands.find(top.string() + "/testdata"), std::string::npos) << commands;
  const ProcessResult pasted = run_process({"/bin/bash", "-e", "-c", commands}, {.directory = elsewhere});
  EXPECT_EQ(pasted.code, 0) << commands << pasted.out << pasted.err;
  EXPECT_THAT(pasted.out, HasSubstr("exit 0\n"));
}

TEST_F(CommandTest, ALongUnwatchedBuildReportsItsProgress) {
  const auto watched = [](const std::string& build) {
    const std::string script = "eval \"$(sed -n '/^tell_tenths()/,/^}/p' '" + source_folder() +
                               "/cmake/dev')\"; say() { echo \"$*\" >&2; }; { " + build + "; } | tell_tenths build/release";
    return run_process({"/bin/bash", "-euo", "pipefail", "-c", script});
  };
  const ProcessResult good =
      watched("for i in $(seq 40); do echo \"[$i/40] Building $i\"; done; echo 'a warning'; echo 'ninja: no work to do.'");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "a warning\n");
  EXPECT_THAT(good.err, testing::StartsWith("build/release: 40 steps\nbuild/release: 10 %\n"));
  EXPECT_THAT(good.err, testing::EndsWith("build/release: 90 %\nbuild/release: 100 %\n"));
  const ProcessResult failed = watched("echo '[1/2] Building'; false");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out + failed.err, "");
}

}  // namespace
}  // namespace relayout::test
