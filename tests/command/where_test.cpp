// Tests `cmake/dev where`, the index of the source tree.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "command/command_test.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

ProcessResult where(const fs::path& top, const std::string& words = "") {
  // The build root has no awk by that name.
  const std::string script = "command -v awk > /dev/null || awk() { gawk \"$@\"; }; eval \"$(sed -n '/^where()/,/^}/p' '" +
                             source_folder() + "/cmake/dev')\"; die() { echo \"$*\" >&2; exit 1; }; where " + words;
  return run_process({"/bin/bash", "-euo", "pipefail", "-c", script}, {.environment = {{"top", top.string()}}});
}

class WhereTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("src/ops/sums.cpp", "// Running totals along an axis.\n// Either end may come first.\n#include <vector>\n\nint kFirstOne = 1;\n");
    write("src/ops/sums.h", "#pragma once\n\n/// Declared here.\nint sum();\n");
    write("include/cut.h",
          "#pragma once\n\n/// The cheapest way\n/// to part a graph.\nint cut();\n\n/// Totals of something else.\nint other();\n");
  }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
};

TEST_F(WhereTest, ListsEachFileWithTheFirstLineOfItsOpeningComment) {
  const ProcessResult all = where(folder_.path());
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.out, "include/cut.h: The cheapest way\nsrc/ops/sums.cpp: Running totals along an axis.\n");
}

TEST_F(WhereTest, FindsAllWordsInNameAndOpeningComment) {
  EXPECT_EQ(where(folder_.path(), "totals").out, "src/ops/sums.cpp: Running totals along an axis.\n");
  EXPECT_EQ(where(folder_.path(), "SUMS either").out, "src/ops/sums.cpp: Running totals along an axis.\n");
  EXPECT_EQ(where(folder_.path(), "part a graph").out, "include/cut.h: The cheapest way\n");
}

TEST_F(WhereTest, LooksIntoTheFilesWhereNoOpeningCommentHasTheWords) {
  EXPECT_EQ(where(folder_.path(), "kfirstone").out, "src/ops/sums.cpp\n");
  EXPECT_EQ(where(folder_.path(), "int cut").out, "include/cut.h\n");
  const ProcessResult nowhere = where(folder_.path(), "'*x*'");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(nowhere.out + nowhere.err, "where: no source file has '*x*'\n");
}

TEST_F(WhereTest, EverySourceFileOfThisTreeHasItsLine) {
  const std::string index = "\n" + where(source_folder()).out;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_folder()) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string name = fs::relative(entry.path(), source_folder()).string();
    const std::size_t at = index.find("\n" + name + ": ");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_NE(index[at + name.size() + 3], '\n') << name << " opens without a sentence";
    ++files;
  }
  EXPECT_GT(files, 0);
}

/// Files of these forms are named by the rules that README states.
bool is_named_by_rule(const std::string& folder, const std::string& name, const std::set<std::string>& words) {
  static const std::regex kReport("(.*)_(command|report|html|junit|document|data)"), kKernel("(.*)_kernel");
  std::smatch parts;
  if (folder == "src/cli") return std::regex_match(name, kReport);
  return folder == "src/exec/kernels" && std::regex_match(name, parts, kKernel) && words.contains(parts[1]);
}

std::string content_of(const std::string& name) {
  std::ifstream file(fs::path(source_folder()) / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The part of README.md from one title to another.
std::string readme(const std::string& from, const std::string& to) {
  const std::string text = content_of("README.md");
  const std::size_t begin = text.find("\n" + from + "\n"), end = text.find("\n" + to + "\n");
  EXPECT_LT(begin, end);
  return begin < end ? text.substr(begin, end - begin) : std::string();
}

TEST(ReadmeIndex, NamesEverySourceFile) {
  const std::string architecture = readme("## Architecture", "## Changes");
  static const std::regex kWord("[a-z0-9_]+");
  const std::set<std::string> words(std::sregex_token_iterator(architecture.begin(), architecture.end(), kWord), {});
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_folder()) / "src")) {
    const std::string folder = fs::relative(entry.path().parent_path(), source_folder()).string(), name = entry.path().stem().string();
    if (entry.is_directory() || words.contains(name) || is_named_by_rule(folder, name, words)) continue;
    ADD_FAILURE() << "README.md, Architecture, does not name " << folder << "/" << entry.path().filename().string();
  }
}

TEST(ReadmeIndex, HasEveryOperatorOfTheTable) {
  const std::string operators = readme("### Operators", "### Options"), table = content_of("src/ops/op_table.cpp");
  static const std::regex kName("(?:\\{|\\()\"([A-Z][A-Za-z0-9]+)\", [0-9]+"), kWord("[A-Za-z0-9]+");
  const std::set<std::string> listed(std::sregex_token_iterator(operators.begin(), operators.end(), kWord), {});
  int found = 0;
  for (std::sregex_iterator at(table.begin(), table.end(), kName), end; at != end; ++at, ++found) {
    const std::string name = (*at)[1];
    EXPECT_TRUE(listed.contains(name)) << name;
  }
  EXPECT_GT(found, 150);
}

TEST_F(WhereTest, TheReadmeHasEveryOptionOfTheHelp) {
  const std::string options = readme("### Options", "### Stages");
  static const std::regex kOption("\n +(?:-[a-z0A-Z], )?(--[a-z0-9-]+)");
  for (const char* command : {"convert", "verify", "inspect", "profile", "diff", "report"}) {
    const std::string help = run({command, "--help"}).out;
    int found = 0;
    for (std::sregex_iterator at(help.begin(), help.end(), kOption), end; at != end; ++at, ++found) {
      EXPECT_NE(options.find("`" + (*at)[1].str() + "`"), std::string::npos) << (*at)[1];
    }
    EXPECT_GT(found, 5) << command;
  }
}

}  // namespace
}  // namespace relayout::test
