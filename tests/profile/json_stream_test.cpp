// Tests the pull parser against the parser of documents, on valid and invalid JSON.
#include "profile/json_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/file.h"
#include "relayout/error.h"
#include "report/json.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;
using Token = JsonStream::Token;

std::string quoted_text(const std::string& text) {
  return Json(text).dump(-1);
}

/// All tokens as one line; nothing if the text is refused.
std::optional<std::string> tokens_of(const std::string& text) {
  const auto file = File::from_bytes(text, "text");
  TextSource source(file);
  std::string out;
  try {
    JsonStream json(source, "text");
    while (true) {
      switch (json.next()) {
        case Token::begin_object:
          out += "{";
          break;
        case Token::end_object:
          out += "}";
          break;
        case Token::begin_array:
          out += "[";
          break;
        case Token::end_array:
          out += "]";
          break;
        case Token::key:
          out += quoted_text(json.text()) + ":";
          break;
        case Token::string:
          out += quoted_text(json.text()) + ",";
          break;
        case Token::number:
          out += Json(json.number()).dump(-1) + ",";
          break;
        case Token::boolean:
          out += "b,";
          break;
        case Token::null:
          out += "n,";
          break;
        case Token::end:
          return out;
      }
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("text: "));
    EXPECT_THAT(error.what(), HasSubstr("(at byte "));
    return std::nullopt;
  }
}

bool is_document(const std::string& text) {
  try {
    (void)Json::parse(text, "text");
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(JsonStream, Tokens) {
  EXPECT_EQ(tokens_of(R"( {"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83d\ude00"], "b": {}, "c": []} )"),
            "{\"a\":[1.0,-2500.0,b,n,\"x\\n\xC3\xA9\xF0\x9F\x98\x80\",]\"b\":{}\"c\":[]}");
  EXPECT_EQ(tokens_of("\xEF\xBB\xBF[]"), "[]");
  EXPECT_EQ(tokens_of(R"("\ud83d")"), "\"\xEF\xBF\xBD\",") << "a surrogate alone";
  EXPECT_EQ(tokens_of(R"("\ud83d\n\ud83d\ud83d\ude00")"), "\"\xEF\xBF\xBD\\n\xEF\xBF\xBD\xF0\x9F\x98\x80\",");
}

TEST(JsonStream, RefusesInvalidJson) {
  for (const char* text : {"",    " ",        "{",       "[1,]",        "{\"a\":}", "{\"a\" 1}", "{a: 1}",      "[1 2]",    "nul",
                           "01",  "1.",       "1e",      "-",           "+1",       ".5",        "NaN",         "Infinity", "1e999",
                           "\"a", "\"\x01\"", "\"\\x\"", "\"\\u12g4\"", "[] []",    "]",         "{\"a\": 1,}", "'a'",      "[1]x"}) {
    EXPECT_EQ(tokens_of(text), std::nullopt) << text;
  }
}

TEST(JsonStream, IsBounded) {
  EXPECT_TRUE(tokens_of(std::string(1000, '[') + std::string(1000, ']')));
  EXPECT_FALSE(tokens_of(std::string(1001, '[') + std::string(1001, ']')));
  EXPECT_FALSE(tokens_of(std::string(1'000'000, '[')));
  EXPECT_TRUE(tokens_of("\"" + std::string(65536, 'x') + "\""));
  EXPECT_FALSE(tokens_of("\"" + std::string(65537, 'x') + "\""));
  EXPECT_FALSE(tokens_of(std::string(600, '1')));
}

/// Random documents and random damage: both parsers agree on what is JSON.
TEST(JsonStream, AgreesWithTheParserOfDocuments) {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u0041\"", "1", "-0.5", "1e3", "true", "null", " "};
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text;
    const std::size_t length = random() % 8 + 1;
    for (std::size_t k = 0; k < length; ++k) text += parts[random() % parts.size()];
    const bool expected = is_document(text);
    accepted += expected ? 1 : 0;
    ASSERT_EQ(tokens_of(text).has_value(), expected) << text;
  }
  EXPECT_GT(accepted, 300);
}

/// Tokens that span pieces of the source.
TEST(JsonStream, PiecesDoNotShow) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += (i == 0 ? "" : ",") + std::string("{\"key\":\"value\\u0041\"}");
  text += "]";
  const auto tokens = tokens_of(text);
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->size(), 2 + std::size_t{100'000} * std::string(R"({"key":"valueA",})").size());
}

}  // namespace
}  // namespace relayout::test
