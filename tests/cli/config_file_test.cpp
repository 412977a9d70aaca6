// Tests configuration files against the grammar of TOML 1.0: valid files are read, others are refused with file and line.
#include "cli/common/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "relayout/error.h"

namespace relayout::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<ConfigEntry> read(const std::string& text) {
  return parse_config(text, "c.toml", std::vector<std::string>{"convert", "verify"});
}

std::string complaint(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error: " << text;
  return "";
}

/// The values of `key = VALUE`.
std::vector<std::string> values_of(const std::string& value) {
  return read("key = " + value).at(0).values;
}

TEST(ConfigFile, KeysSectionsAndPlaces) {
  const std::vector<ConfigEntry> entries = read("# a comment\r\nseed=7 # behind\n\n[ convert ]\n\t\"layout\" = 'keep'\n'no-fold' = true");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].section, "");
  EXPECT_EQ(entries[0].key, "seed");
  EXPECT_EQ(entries[0].place, "c.toml:2");
  EXPECT_EQ(entries[1].section, "convert");
  EXPECT_EQ(entries[1].key, "layout");
  EXPECT_EQ(entries[1].place, "c.toml:5");
  EXPECT_EQ(entries[2].key, "no-fold");
  EXPECT_EQ(entries[2].kind, ConfigEntry::Kind::boolean);
  EXPECT_TRUE(read("").empty());
  // Keys for all commands come before those for one, each in the order of the file.
  const std::vector<ConfigEntry> dotted = read("convert.layout = 'keep'\nzeta = 1\nalpha = 2");
  ASSERT_EQ(dotted.size(), 3U);
  EXPECT_EQ(dotted[0].key, "zeta");
  EXPECT_EQ(dotted[1].key, "alpha");
  EXPECT_EQ(dotted[2].section, "convert");
}

TEST(ConfigFile, ValuesFollowTheGrammar) {
  EXPECT_THAT(values_of(R"("a\tb\"\\\u00e4\U0001F600#")"), ElementsAre("a\tb\"\\\xC3\xA4\xF0\x9F\x98\x80#"));
  EXPECT_THAT(values_of(R"('C:\n "x"')"), ElementsAre(R"(C:\n "x")"));
  EXPECT_THAT(values_of("\"\""), ElementsAre(""));
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::string>>{{"0", "0"},
                                                                                    {"-17", "-17"},
                                                                                    {"+99", "99"},
                                                                                    {"1_000_000", "1000000"},
                                                                                    {"0.5", "0.5"},
                                                                                    {"-0.01", "-0.01"},
                                                                                    {"5e+22", "5e+22"},
                                                                                    {"1E-6", "1e-06"},
                                                                                    {"6.626e-34", "6.626e-34"}}) {
    EXPECT_THAT(values_of(text), ElementsAre(value)) << text;
  }
  EXPECT_THAT(values_of("[ 'a',  # first\n  \"b\" , # second\n\n 3, ]"), ElementsAre("a", "b", "3"));
  EXPECT_THAT(values_of("[]"), ElementsAre());
}

TEST(ConfigFile, InvalidTomlIsRefusedWithItsLine) {
  for (const std::string line : {"garbage",
                                 "layout keep",
                                 "= 5",
                                 "layout = ",
                                 "layout = keep",
                                 "layout = \"keep",
                                 "layout = 'keep\"",
                                 "layout = \"a\" b",
                                 "x = 1 y = 2",
                                 "x = 01",
                                 "x = 1__0",
                                 "x = 1_",
                                 "x = _1",
                                 "x = .5",
                                 "x = 5.",
                                 "x = 1e",
                                 "x = 1x",
                                 "x = +",
                                 "x = \"\\q\"",
                                 "x = \"\\u12\"",
                                 "x = \"\\uD800\"",
                                 "x = \"a\x01\"",
                                 "[convert",
                                 "[convert] x = 1",
                                 "[]",
                                 "x = [1 2]",
                                 "x = [1,,2]",
                                 "x = [",
                                 "x = ['a', 'b'",
                                 "x = True",
                                 "a b = 1",
                                 "x = {a = 1}",
                                 "\xEF\xBB\xBFx = 1"}) {
    EXPECT_THAT(complaint("seed = 1\n" + line + "\n"), StartsWith("c.toml:")) << line;
  }
  EXPECT_THAT(complaint("seed = 1\nlayout = keep\n"),
              HasSubstr("c.toml:2: not TOML: Error while parsing value: could not determine value type; text needs quotes"));
  EXPECT_THAT(complaint("only = [\n'a',\n'b'\n"), HasSubstr("c.toml:3: not TOML: Error while parsing array"));
}

TEST(ConfigFile, ValuesThatNoOptionTakesAreRefused) {
  EXPECT_THAT(complaint("\nx = 1979-05-27\n"), HasSubstr("c.toml:2: dates and times are no values of options"));
  EXPECT_THAT(complaint("a.b = 1\n"), HasSubstr("c.toml:1: unknown section 'a'"));
  EXPECT_THAT(complaint("[convert.more]\n"), HasSubstr("c.toml:1: tables and nested arrays are no values of options"));
  EXPECT_THAT(complaint("[[convert]]\n"), HasSubstr("c.toml:1: tables and nested arrays are no values of options"));
  EXPECT_THAT(complaint("x = [1, [2]]\n"), HasSubstr("c.toml:1: tables and nested arrays are no values of options"));
}

TEST(ConfigFile, DuplicatesAreRefused) {
  EXPECT_THAT(complaint("x = 1\n\nx = 2\n"),
              HasSubstr("c.toml:3: not TOML: Error while parsing key-value pair: cannot redefine existing integer 'x'"));
  EXPECT_THAT(complaint("[convert]\n[verify]\n[convert]\n"),
              HasSubstr("c.toml:3: not TOML: Error while parsing table header: cannot redefine existing table 'convert'"));
  EXPECT_EQ(read("x = 1\n[convert]\nx = 2\n").size(), 2U);
}

TEST(ConfigFile, UnknownSectionsNameTheNearest) {
  EXPECT_THAT(complaint("\n[convrt]\n"), HasSubstr("c.toml:2: unknown section 'convrt'; did you mean 'convert'?"));
  EXPECT_THAT(complaint("[elsewhere]\n"), HasSubstr("unknown section 'elsewhere': sections are named after commands"));
}

}  // namespace
}  // namespace relayout::cli
