// Tests `cmake/dev where` and the guide to the sources.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "command/command_test.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

/// Calls one of the functions of cmake/dev on a tree.
ProcessResult call(const fs::path& top, const std::string& command) {
  // The build root has no awk by that name.
  const std::string functions = "'/^opening_sentences()/,/^}/p; /^where()/,/^}/p'";
  const std::string script = "command -v awk > /dev/null || awk() { gawk \"$@\"; }; eval \"$(sed -n " + functions + " '" + source_folder() +
                             "/cmake/dev')\"; die() { echo \"$*\" >&2; exit 1; }; " + command;
  return run_process({"/bin/bash", "-euo", "pipefail", "-c", script}, {.environment = {{"top", top.string()}}});
}

ProcessResult where(const fs::path& top, const std::string& words = "") {
  return call(top, "where " + words);
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

TEST_F(WhereTest, ListsEachFileWithTheFirstSentenceOfItsOpeningComment) {
  const ProcessResult all = where(folder_.path());
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.out, "include/cut.h: The cheapest way to part a graph.\nsrc/ops/sums.cpp: Running totals along an axis.\n");
}

TEST_F(WhereTest, FindsAllWordsInNameAndOpeningComment) {
  EXPECT_EQ(where(folder_.path(), "totals").out, "src/ops/sums.cpp: Running totals along an axis.\n");
  EXPECT_EQ(where(folder_.path(), "SUMS either").out, "src/ops/sums.cpp: Running totals along an axis.\n");
  EXPECT_EQ(where(folder_.path(), "part a graph").out, "include/cut.h: The cheapest way to part a graph.\n");
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

std::string content_of(const std::string& name) {
  std::ifstream file(fs::path(source_folder()) / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string guide() {
  return content_of("src/README.md") + content_of("src/ops/README.md");
}

TEST(SourceGuide, NamesOnlyFilesThatAreThere) {
  std::vector<std::string> there;
  for (const char* const folder : {"src", "tests", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_folder()) / folder))
      there.push_back("/" + entry.path().string());
  }
  static const std::regex kFile("`((?:[a-z_]+/)*[a-z0-9_]+\\.(?:cpp|h))`"), kPlaceholder("(.*[_/])?x[_.].*");
  const std::string operators = guide();
  for (std::sregex_iterator at(operators.begin(), operators.end(), kFile), end; at != end; ++at) {
    const std::string file = (*at)[1];
    const auto is_it = [&](const std::string& path) { return path.ends_with("/" + file); };
    EXPECT_TRUE(std::regex_match(file, kPlaceholder) || std::ranges::any_of(there, is_it)) << file;
  }

  static const std::regex kRow("\n\\| (`[^|\n]*) \\|"), kKernel("`([a-z0-9_]+)`");
  int found = 0;
  for (std::sregex_iterator row(operators.begin(), operators.end(), kRow), end; row != end; ++row) {
    const std::string files = (*row)[1];
    for (std::sregex_iterator at(files.begin(), files.end(), kKernel); at != end; ++at) {
      EXPECT_TRUE(fs::exists(fs::path(source_folder()) / "src/ops/kernels" / ((*at)[1].str() + ".cpp"))) << (*at)[0];
      ++found;
    }
  }
  EXPECT_GT(found, 30);
}

TEST(SourceGuide, HasEveryOperatorOfTheTable) {
  const std::string rows = content_of("src/ops/README.md"), table = content_of("src/ops/op_table.cpp");
  static const std::regex kName("(?:\\{|\\()\"([A-Z][A-Za-z0-9]+)\", [0-9]+"), kWord("[A-Za-z0-9]+");
  static const std::regex kSecondColumn("\n\\|[^|\n]*\\|([^|\n]*)\\|");
  std::string operators;
  for (std::sregex_iterator row(rows.begin(), rows.end(), kSecondColumn), end; row != end; ++row) operators += (*row)[1].str() + " ";
  const std::set<std::string> listed(std::sregex_token_iterator(operators.begin(), operators.end(), kWord), {});
  int found = 0;
  for (std::sregex_iterator at(table.begin(), table.end(), kName), end; at != end; ++at, ++found) {
    const std::string name = (*at)[1];
    EXPECT_TRUE(listed.contains(name)) << name;
  }
  EXPECT_GT(found, 150);
}

TEST(SourceGuide, NamesEachFileThatDecidesByManyOperators) {
  const std::string named = guide(), table = content_of("src/ops/op_table.cpp");
  static const std::regex kEntry("(?:\\{|\\()\"([A-Z][A-Za-z0-9]+)\", [0-9]+"), kText("\"([A-Z][A-Za-z0-9]+)\""), kRemark("//[^\n]*");
  const auto first_group = [](const std::string& text, const std::regex& pattern) {
    return std::set<std::string>(std::sregex_token_iterator(text.begin(), text.end(), pattern, 1), {});
  };
  const std::set<std::string> operators = first_group(table, kEntry);
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_folder()) / "src")) {
    const std::string file = fs::relative(entry.path(), source_folder()).string();
    const bool is_of_rows = file.starts_with("src/ops/") || file.starts_with("src/derive/");  // whose files are tables of operators
    if (!(file.ends_with(".cpp") || file.ends_with(".h")) || is_of_rows) continue;
    const std::set<std::string> words = first_group(std::regex_replace(content_of(file), kRemark, ""), kText);
    const auto count = std::ranges::count_if(words, [&](const std::string& word) { return operators.contains(word); });
    constexpr int kMany = 5;
    const std::regex mention("[`/]" + std::regex_replace(entry.path().filename().string(), std::regex("[.]"), "[.]") + "`");
    EXPECT_TRUE(count < kMany || std::regex_search(named, mention)) << file << " names " << count << " operators";
  }
}

}  // namespace
}  // namespace relayout::test
