#include "report/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "relayout/error.h"

namespace relayout {
namespace {

TEST(Json, KeysKeepTheOrderInWhichTheyWereSet) {
  Json document = Json::object();
  document.set("schema", "relayout.verify/1").set("b", 2).set("a", Json::array().add(true).add(Json()).add(-1.5));
  document.set("b", uint64_t{18446744073709551615U});
  EXPECT_EQ(document.dump(-1), R"({"schema":"relayout.verify/1","b":18446744073709551615,"a":[true,null,-1.5]})");
}

TEST(Json, EmptyContainersKeepTheirKind) {
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json(std::vector<int64_t>{}).dump(), "[]");
  EXPECT_EQ(Json(std::vector<int64_t>{1, -2}).dump(-1), "[1,-2]");
  EXPECT_EQ(Json(std::optional<bool>{}).dump(), "null");
}

TEST(Json, NumbersThatAreNotFiniteAreStrings) {
  Json document = Json::array();
  document.add(std::numeric_limits<double>::quiet_NaN());
  document.add(std::numeric_limits<double>::infinity()).add(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(document.dump(-1), R"(["nan","inf","-inf"])");
}

TEST(Json, EscapesControlCharactersAndReplacesInvalidUtf8) {
  EXPECT_EQ(Json("a\"\n\x01").dump(), R"("a\"\n\u0001")");
  EXPECT_EQ(Json("a\xFF"
                 "b")
                .dump(),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(Json, ReadsTypedValues) {
  const Json document = Json::parse(R"({"rtol": 2e-3, "list": [1, "x", false], "n": null})", "data.json");
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document.find("rtol")->number(), 2e-3);
  EXPECT_EQ(document.find("list")->size(), 3U);
  EXPECT_EQ(document.find("list")->at(1)->text(), "x");
  EXPECT_EQ(document.find("list")->at(2)->dump(), "false");
  EXPECT_FALSE(document.find("list")->at(3));
  EXPECT_FALSE(document.find("atol"));
  EXPECT_FALSE(document.find("rtol")->text());
}

TEST(Json, RefusesInvalidJson) {
  for (const std::string& text :
       {std::string("{\"a\": }"), std::string(), std::string("[1,"), std::string(100000, '['), std::string("1e999")}) {
    try {
      (void)Json::parse(text, "data.json");
      FAIL() << text.substr(0, 20);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid);
      EXPECT_EQ(std::string(error.what()).rfind("data.json: ", 0), 0U) << error.what();
    }
  }
}

TEST(JsonReader, NamesTheFileItsFaultAndTheMember) {
  const Json document = Json::parse(R"({"name": "a", "count": 3, "below": -1, "names": ["a", "b"], "mixed": ["a", 1]})", "x");
  const JsonReader reader("a\n.json", "no list");
  EXPECT_EQ(reader.text(document, "name"), "a");
  EXPECT_EQ(reader.number(document, "count"), 3);
  EXPECT_EQ(reader.texts(document, "names"), (std::vector<std::string>{"a", "b"}));
  const auto refusal = [](const auto& read) -> std::string {
    try {
      (void)read();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { return reader.text(document, "none"); }), "a\\x0a.json: no list: no 'none'");
  EXPECT_EQ(refusal([&] { return reader.text(document, "count"); }), "a\\x0a.json: no list: 'count' is no text");
  EXPECT_EQ(refusal([&] { return reader.number(document, "below"); }), "a\\x0a.json: no list: 'below' is no number from 0 on");
  EXPECT_EQ(refusal([&] { return reader.texts(document, "mixed"); }), "a\\x0a.json: no list: 'mixed' is no list of texts");
}

TEST(Json, AMovedFromValueIsNull) {
  Json first("x");
  const Json second = std::move(first);
  EXPECT_EQ(first.dump(), "null");  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(second.dump(), "\"x\"");
}

TEST(Json, ListsAndMapsBecomeArraysAndObjects) {
  const Json json = Json()
                        .set("list", Json::list(std::vector<int>{1, 2}, [](int number) { return 2 * number; }))
                        .set("map", std::map<std::string, int>{{"b", 1}, {"a", 2}});
  EXPECT_EQ(json.dump(-1), R"({"list":[2,4],"map":{"a":2,"b":1}})");
}

}  // namespace
}  // namespace relayout
