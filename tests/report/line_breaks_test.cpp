#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "report/table.h"

namespace relayout {
namespace {

TEST(Shortened, TheMiddleIsRemoved) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("/features/denseblock1/norm1", 13), "/featu…/norm1");
  EXPECT_EQ(shortened("größere", 4), "g…re");
  EXPECT_EQ(shortened("層層層層", 5), "層…層");  // two columns each
  EXPECT_EQ(display_width(shortened(std::string(500, 'x'), 21)), 21U);
}

TEST(ShortenedApart, NamesOfOneTableStayApart) {
  std::vector<std::string> names;
  for (int block = 1; block <= 4; ++block) {
    for (int layer = 1; layer <= 24; ++layer) {
      names.push_back("/features/denseblock" + std::to_string(block) + "/denselayer" + std::to_string(layer) + "/conv2/Conv");
    }
  }
  for (const std::size_t width : {20U, 24U, 28U, 36U, 60U}) {
    const std::vector<std::string> shown = shortened_apart(names, width);
    EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), names.size()) << width;
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_LE(display_width(shown[i]), width);
      EXPECT_EQ(shown[i].find('#'), std::string::npos) << shown[i];
    }
  }
  EXPECT_EQ(shortened_apart({names[0], names[0]}, 20), std::vector(2, shortened(names[0], 20)));
}

TEST(ShortenedApart, TheCommonPartIsRemovedFirst) {
  using Names = std::vector<std::string>;
  // Removes the common beginning, as far as necessary.
  EXPECT_EQ(shortened_apart({"/net/block1/expand3x3/Conv", "/net/block2/expand3x3/Conv"}, 18),
            (Names{"/…1/expand3x3/Conv", "/…2/expand3x3/Conv"}));
  // Keeps the difference if it is too far from the end.
  EXPECT_EQ(shortened_apart({"/net/block1/expand3x3/squeeze/Conv", "/net/block2/expand3x3/squeeze/Conv"}, 18),
            (Names{"…block1…ueeze/Conv", "…block2…ueeze/Conv"}));
  EXPECT_EQ(shortened_apart({"/größe/ä" + std::string(40, 'x'), "/größe/ö" + std::string(40, 'x')}, 8), (Names{"…ä…xxxxx", "…ö…xxxxx"}));
  // No window of six columns shows both differences.
  const Names grid = shortened_apart({"aaaaaaaa1aaaaaaaa1aaaaaaaa", "aaaaaaaa1aaaaaaaa2aaaaaaaa", "aaaaaaaa2aaaaaaaa1aaaaaaaa"}, 6);
  EXPECT_EQ(grid, (Names{"a…aa#1", "a…aa#2", "a…aa#3"}));
}

TEST(FitLines, BreaksBetweenCellsThenClausesThenWords) {
  const std::string line = "output   f32 [1, 100]   error/range 5.8e-07   floor 6.5e-07   ratio 0.9\n";
  EXPECT_EQ(fit_lines(line, 0), line);
  EXPECT_EQ(fit_lines(line, 72), line);
  EXPECT_EQ(fit_lines(line, 60), "output   f32 [1, 100]   error/range 5.8e-07   floor 6.5e-07\n    ratio 0.9\n");
  EXPECT_EQ(fit_lines(line, 50), "output   f32 [1, 100]   error/range 5.8e-07\n    floor 6.5e-07   ratio 0.9\n");
  EXPECT_EQ(fit_lines("  one two · three four · five\n", 14), "  one two\n      three\n      four\n      five\n");
  EXPECT_EQ(fit_lines("a sentence of several words", 12), "a sentence\n    of\n    several\n    words");
}

TEST(FitLines, AWordLongerThanALineLosesItsMiddle) {
  EXPECT_EQ(fit_lines("node /features/denseblock1/denselayer1/norm1\n", 20), "node\n    /featur…r1/norm1\n");
}

TEST(FitLines, ColoursTakeNoRoomAndStay) {
  const std::string line = "\x1b[32msame\x1b[0m   4 samples   \x1b[1mexit 0\x1b[0m\n";
  EXPECT_EQ(fit_lines(line, 24), "\x1b[32msame\x1b[0m   4 samples\n    \x1b[1mexit 0\x1b[0m\n");
  EXPECT_EQ(fit_lines(line, 30), line);
  EXPECT_EQ(fit_lines("\x1b[1m" + std::string(50, 'x') + "\x1b[0m\n", 11), "\x1b[1mxxxxx…xxxxx\x1b[0m\n");
}

TEST(FitLines, AnIndentWithinColoursIsAnIndent) {
  const std::string line = "  different: 3 of 4 elements are beyond the bound";
  const std::string broken = "  different: 3 of 4\n      elements are beyond\n      the bound";
  EXPECT_EQ(fit_lines(line, 26), broken);
  EXPECT_EQ(fit_lines("\x1b[31m" + line + "\x1b[0m\n", 26),
            "  \x1b[31mdifferent: 3 of 4\n      elements are beyond\n      the bound\x1b[0m\n");
}

TEST(FitLines, NoLineIsTooWideAndNoWordIsLost) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += std::string(static_cast<std::size_t>(i % 17), 'w') + (i % 5 == 0 ? "   " : i % 7 == 0 ? " · " : " ");
  for (const std::size_t width : {40U, 60U, 80U, 120U}) {
    std::istringstream lines(fit_lines(text + "\n", width));
    std::string letters;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), width);
      for (const char c : line) letters += c == 'w' ? "w" : "";
    }
    std::string expected;
    for (const char c : text) expected += c == 'w' ? "w" : "";
    EXPECT_EQ(letters, expected);
  }
}

TEST(Table, NamesGetShorterBeforeLinesBreak) {
  Table table({.gap = 2});
  table.row({"/features/denseblock1/denselayer1/norm1/Relu", "f32 [1, 64]", "5.8e-07"});
  table.row({"/features/denseblock1/denselayer1/norm2/Relu", "f32 [1, 64]", "6.0e-07"});
  EXPECT_EQ(table.text({.width = 40}),
            "/features…norm1/Relu  f32 [1, 64]  5.8e-07\n"
            "/features…norm2/Relu  f32 [1, 64]  6.0e-07\n");
}

}  // namespace
}  // namespace relayout
