#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/junit.h"

namespace relayout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Status = JunitCase::Status;

JunitCase a_case(const std::string& name, Status status, const std::string& message = "", const std::string& details = "") {
  JunitCase one;
  one.name = name;
  one.file = "models/net.onnx";
  one.status = status;
  one.message = message;
  one.details = details;
  return one;
}

JunitSuite suite_of(std::vector<JunitCase> cases) {
  return {"verify", "net.onnx", "", {}, std::move(cases)};
}

TEST(Markdown, HasARowPerSuite) {
  const std::string text = markdown_text({suite_of({a_case("one", Status::passed), a_case("two", Status::failed, "too far")}),
                                          suite_of({a_case("one", Status::passed)}), suite_of({a_case("one", Status::error, "no memory")}),
                                          suite_of({a_case("one", Status::skipped, "constant")})});
  EXPECT_THAT(text, HasSubstr("| ❌ failed | <code>relayout verify net.onnx</code> | 1 of 2 | <code>too far</code> | 0.0 s |\n"));
  EXPECT_THAT(text, HasSubstr("| ✅ passed | <code>relayout verify net.onnx</code> | 1 of 1 |  | 0.0 s |\n"));
  EXPECT_THAT(text, HasSubstr("| ❌ error | "));
  EXPECT_THAT(text, HasSubstr("| ⚠️ not all tested | "));
  EXPECT_THAT(text, HasSubstr("- <code>two</code> <code>too far</code>\n"));
}

TEST(Markdown, NamesAreNoMarkup) {
  const std::string text = markdown_text({suite_of({a_case("a|b</code><script>\n| x", Status::failed, "`[a](b)` *c*")})});
  EXPECT_THAT(text, HasSubstr("<code>a&#124;b&lt;/code&gt;&lt;script&gt; &#124; x</code>"));
  EXPECT_THAT(text, HasSubstr("<code>&#96;&#91;a](b)&#96; &#42;c&#42;</code>"));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
}

TEST(Markdown, ListsSomeOfManyFailures) {
  const std::string text = markdown_text({suite_of(std::vector<JunitCase>(13, a_case("one", Status::failed, "far")))});
  EXPECT_THAT(text, HasSubstr("- and 3 more\n"));
}

TEST(GithubAnnotations, OneLinePerFile) {
  JunitCase other = a_case("three", Status::failed, "far");
  other.file = "b.onnx";
  EXPECT_EQ(github_annotations({suite_of({a_case("one", Status::failed, "far"), a_case("two", Status::error, "worse", "node x"), other,
                                          a_case("four", Status::passed)})}),
            "::error file=models/net.onnx,title=relayout verify::one: far%0Anode x%0Aand 1 more\n"
            "::error file=b.onnx,title=relayout verify::three: far\n");
  EXPECT_EQ(github_annotations({suite_of({a_case("one", Status::skipped, "constant")})}),
            "::warning file=models/net.onnx,title=relayout verify::one: constant\n");
  EXPECT_EQ(github_annotations({suite_of({a_case("one", Status::passed)})}), "");
}

TEST(Summaries, NameTheirCommand) {
  const JunitSuite suite{"inspect", "net.onnx", "", {}, {a_case("opset", Status::failed, "17")}};
  EXPECT_THAT(markdown_text({suite}), testing::StartsWith("### relayout inspect\n"));
  EXPECT_THAT(github_annotations({suite}), HasSubstr("title=relayout inspect::opset: 17\n"));
}

// The escapes are those that GitHub's runner undoes: % as %25, line ends as %0D and %0A, in properties : as %3A and , as %2C.
TEST(GithubAnnotations, NoNameIsACommand) {
  JunitCase one = a_case("x\n::stop-commands::y", Status::failed, "50 %\r");
  one.file = "a,b:c.onnx";
  const std::string text = github_annotations({suite_of({one})});
  EXPECT_THAT(text, HasSubstr("file=a%2Cb%3Ac.onnx,"));
  EXPECT_THAT(text, HasSubstr("x%0A::stop-commands::y: 50 %25"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

}  // namespace
}  // namespace relayout
