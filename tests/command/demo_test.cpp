// `cmake/dev demo`, without its build: every command that it prints or that the program suggests runs as it is pasted.
#include <filesystem>
#include <sstream>
#include <string>

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
  std::string commands;
  std::istringstream lines(demo.out);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string title : {"\x1b[1m$ ", "Next: ", "Before quantizing or pruning: "}) {
      if (line.starts_with(title)) commands += line.substr(title.size(), line.find("\x1b[0m") - title.size()) + "\n";
    }
  }
  EXPECT_THAT(commands, HasSubstr("relayout verify "));
  EXPECT_EQ(commands.find(top.string() + "/testdata"), std::string::npos) << commands;
  const ProcessResult pasted = run_process({"/bin/bash", "-e", "-c", commands}, {.directory = elsewhere});
  EXPECT_EQ(pasted.code, 0) << commands << pasted.out << pasted.err;
  EXPECT_THAT(pasted.out, HasSubstr("exit 0\n"));
}

}  // namespace
}  // namespace relayout::test
