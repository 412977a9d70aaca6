#include "ops/kernels/regex.h"

#include <gtest/gtest.h>

#include "relayout/error.h"

namespace relayout {
namespace {

struct RegexCase {
  const char* pattern;
  std::vector<std::string> matches, others;
};

/// Results of RE2's FullMatch (by its documented syntax).
const std::vector<RegexCase>& regex_cases() {
  static const std::vector<RegexCase> cases = {
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", "xabc", ""}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"a*b+c?", {"b", "aabbc", "bc"}, {"ac", "bcc"}},
      {"(ab){2,3}", {"abab", "ababab"}, {"ab", "abababab", "aba"}},
      {"a{2}b{1,}", {"aab", "aabbb"}, {"ab", "aaab", "aa"}},
      {"a{,2}", {"a{,2}"}, {"a", "aa"}},
      {"(a|b)*?c", {"c", "ababc"}, {"abab"}},
      {".", {"a", "é", "日"}, {"", "\n", "ab"}},
      {"(?s).", {"\n"}, {""}},
      {"[a-c-]+", {"ab-c"}, {"d"}},
      {"[^a-c]", {"d", "é"}, {"a", ""}},
      {"[]a]", {"]", "a"}, {"b"}},
      {"[[:alpha:]_]+[[:^digit:]]", {"ab_x", "ab "}, {"ab1", "1a"}},
      {"\\d+\\.\\d*", {"3.", "12.50"}, {".5", "3"}},
      {"\\w+@\\w+\\.(com|org)", {"who@where.org"}, {"who@where.net", "@where.org"}},
      {"[\\w.]+\\s\\S", {"a.b c"}, {"a.b  c"}},
      {"^abc$", {"abc"}, {"abc\n"}},
      {"(?m)a$\n^b", {"a\nb"}, {"ab"}},
      {"\\Aa\\z", {"a"}, {"a\n"}},
      {"a\\b.b\\B.", {"a bc"}, {"aabc", "a b "}},
      {"(?i)straße|É", {"STRAßE", "Straße", "é"}, {"strasse"}},
      {"(?i:a)b", {"Ab", "ab"}, {"AB"}},
      {"(?P<year>[0-9]{4})-(?:0[1-9]|1[0-2])", {"2024-12"}, {"2024-13", "24-01"}},
      {"\\Qa.b*\\E+", {"a.b*", "a.b**"}, {"aXb", "a.b"}},
      {"\\x41\\x{e9}\\t\\.", {"Aé\t."}, {"Aé\tx"}},
      {"(a*)*b", {"b", "aaaab"}, {"aaaa"}},
      {"(|a)+", {"", "aaa"}, {"b"}},
  };
  return cases;
}

TEST(Regex, MatchesWholeTextsAsRe2Does) {
  for (const RegexCase& one : regex_cases()) {
    const Regex regex(one.pattern);
    for (const std::string& text : one.matches) EXPECT_TRUE(regex.matches_all(text)) << one.pattern << " on " << text;
    for (const std::string& text : one.others) EXPECT_FALSE(regex.matches_all(text)) << one.pattern << " on " << text;
  }
}

TEST(Regex, TakesLinearTimeForAnyExpression) {
  const std::string text(20'000, 'a');
  EXPECT_TRUE(Regex("(a*)*(a*)*(a|aa)+").matches_all(text));
  EXPECT_FALSE(Regex("(a+)+b").matches_all(text));
}

TEST(Regex, RefusesInvalidExpressions) {
  for (const char* const pattern :
       {"(", ")", "a)", "[a", "*a", "a\\", "[b-a]", "(?<=a)b", "(?z)", "\\q", "\\x4", "a{1001}", "[[:x:]]", "a{3,2}"}) {
    try {
      const Regex regex(pattern);
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid) << pattern << ": " << error.what();
    }
  }
  EXPECT_THROW(Regex(std::string(100'000, '(')), Error);
  EXPECT_THROW(Regex("((((a{1000}){1000}){1000}){1000})"), Error);
}

}  // namespace
}  // namespace relayout
