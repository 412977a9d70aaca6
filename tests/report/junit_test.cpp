#include "report/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <regex>

namespace relayout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

JunitCase a_case(const std::string& name, JunitCase::Status status = JunitCase::Status::passed, const std::string& message = "") {
  JunitCase one;
  one.class_name = "relayout.verify.net";
  one.name = name;
  one.seconds = 0.25;
  one.status = status;
  one.message = message;
  return one;
}

TEST(Junit, CountsAddUp) {
  const JunitSuite suite{"verify",
                         "net",
                         "2026-01-31T12:00:00",
                         {{"seed", "1"}},
                         {a_case("one"), a_case("two", JunitCase::Status::failed, "too far"),
                          a_case("three", JunitCase::Status::error, "no memory"), a_case("four", JunitCase::Status::skipped, "constant")}};
  EXPECT_EQ(junit_text({suite}),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="1" time="1.000">
  <testsuite name="relayout verify net" tests="4" failures="1" errors="1" skipped="1" time="1.000" timestamp="2026-01-31T12:00:00">
    <properties>
      <property name="seed" value="1"/>
    </properties>
    <testcase classname="relayout.verify.net" name="one" time="0.250"/>
    <testcase classname="relayout.verify.net" name="two" time="0.250">
      <failure message="too far" type="different">too far</failure>
    </testcase>
    <testcase classname="relayout.verify.net" name="three" time="0.250">
      <error message="no memory" type="error">no memory</error>
    </testcase>
    <testcase classname="relayout.verify.net" name="four" time="0.250">
      <skipped message="constant">constant</skipped>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(Junit, V72NamesThatAreEqualAfterEscapingStayApart) {
  const std::string text = junit_text({{"verify", "s", "", {}, {a_case("y\x01"), a_case("y\x02"), a_case("y\x01")}}});
  EXPECT_THAT(text, HasSubstr("name=\"y\xEF\xBF\xBD\""));
  EXPECT_THAT(text, HasSubstr("name=\"y\xEF\xBF\xBD (2)\""));
  EXPECT_THAT(text, HasSubstr("name=\"y\xEF\xBF\xBD (3)\""));
}

TEST(Junit, V72MarkupInNamesAndMessages) {
  const std::string text = junit_text({{"verify", "]]>", "", {}, {a_case("<a&\"b\">", JunitCase::Status::failed, "x]]>y\xEF\xBF\xBF")}}});
  EXPECT_THAT(text, HasSubstr("name=\"&lt;a&amp;&quot;b&quot;&gt;\""));
  EXPECT_THAT(text, HasSubstr(">x]]&gt;y\xEF\xBF\xBD</failure>"));
  EXPECT_THAT(text, Not(HasSubstr("]]>")));
}

TEST(Junit, LongTextIsCutBetweenCharacters) {
  JunitCase one = a_case("long", JunitCase::Status::failed, "first line");
  for (int i = 0; i < 6000; ++i) one.details += "ä";
  const std::string text = junit_text({{"verify", "s", "", {}, {one}}});
  EXPECT_LT(text.size(), 9000U);
  EXPECT_THAT(text, HasSubstr("first line\nää"));
  EXPECT_THAT(text, HasSubstr("ä …</failure>"));
}

TEST(Junit, V72SecondsHaveAPointInEveryLocale) {
  for (const char* const name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  const std::string text = junit_text({{"verify", "s", "", {}, {a_case("one")}}});
  std::setlocale(LC_ALL, "C");
  EXPECT_THAT(text, HasSubstr("time=\"0.250\""));
}

TEST(Junit, TimesThatAreNone) {
  JunitCase one = a_case("one");
  one.seconds = -1;
  EXPECT_THAT(junit_text({{"verify", "s", "", {}, {one}}}), HasSubstr("name=\"one\" time=\"0.000\""));
  EXPECT_EQ(junit_now().size(), std::string("2026-01-31T12:00:00").size());
}

/// The elements of a document with their attributes, in order: "testsuite name tests …".
std::vector<std::string> elements(const std::string& xml) {
  std::vector<std::string> out;
  static const std::regex tag(R"(<([a-z]+)((?: [a-z]+="[^"<]*")*)/?>)"), name(R"( ([a-z]+)=")");
  for (std::sregex_iterator at(xml.begin(), xml.end(), tag), end; at != end; ++at) {
    std::string line = (*at)[1];
    const std::string attributes = (*at)[2];
    for (std::sregex_iterator one(attributes.begin(), attributes.end(), name); one != end; ++one) line += " " + (*one)[1].str();
    out.push_back(line);
  }
  return out;
}

// Elements that junit-10.xsd of Jenkins' xUnit plugin allows, and `file` of a testcase, which GitLab shows.
TEST(Junit, KeepsToTheSchema) {
  JunitCase one = a_case("one", JunitCase::Status::failed, "too far");
  one.file = "b.onnx";
  const std::string xml =
      junit_text({{"verify",
                   "net",
                   "2026-01-31T12:00:00",
                   {{"seed", "1"}},
                   {one, a_case("two", JunitCase::Status::error, "x"), a_case("three", JunitCase::Status::skipped, "y")}}});
  EXPECT_THAT(elements(xml),
              ElementsAre("testsuites tests failures errors time", "testsuite name tests failures errors skipped time timestamp",
                          "properties", "property name value", "testcase classname name file time", "failure message type",
                          "testcase classname name time", "error message type", "testcase classname name time", "skipped message"));
}

}  // namespace
}  // namespace relayout
