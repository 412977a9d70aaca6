// Reads and writes JSON documents.
// Implemented with nlohmann's library, which only this file includes.
#include "report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

using Document = nlohmann::ordered_json;

constexpr int kMaxLevels = 64;

/// Refuses text nested deeper than kMaxLevels before parsing, as the parser does not limit the depth.
void check_depth(std::string_view text, std::string_view name) {
  int level = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++level;
    if (c == '}' || c == ']') --level;
    if (level > kMaxLevels) {
      fail(ErrorKind::invalid,
           escape(name) + ": JSON of more than " + std::to_string(kMaxLevels) + " levels (at byte " + std::to_string(i) + ")");
    }
  }
}

}  // namespace

struct Json::Value {
  Document document;
};

Json::Json() : value_(std::make_unique<Value>()) {}
Json::~Json() = default;
Json::Json(std::unique_ptr<Value> value) : value_(std::move(value)) {}
Json::Json(const Json& other) : value_(std::make_unique<Value>(*other.value_)) {}
// A moved-from value is null, so that every member function may be called on it.
Json::Json(Json&& other) noexcept : value_(std::exchange(other.value_, std::make_unique<Value>())) {}
Json& Json::operator=(Json other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Json::Json(std::string_view text) : Json(std::make_unique<Value>(Value{Document(std::string(text))})) {}

Json::Json(double number) : Json() {
  if (std::isnan(number)) {
    value_->document = "nan";
  } else if (std::isinf(number)) {
    value_->document = number > 0 ? "inf" : "-inf";
  } else {
    value_->document = number;
  }
}

Json Json::of_bool(bool value) {
  return Json(std::make_unique<Value>(Value{Document(value)}));
}
Json Json::of_signed(int64_t value) {
  return Json(std::make_unique<Value>(Value{Document(value)}));
}
Json Json::of_unsigned(uint64_t value) {
  return Json(std::make_unique<Value>(Value{Document(value)}));
}
Json Json::object() {
  return Json(std::make_unique<Value>(Value{Document::object()}));
}
Json Json::array() {
  return Json(std::make_unique<Value>(Value{Document::array()}));
}

Json& Json::set(std::string_view key, Json value) & {
  value_->document[std::string(key)] = std::move(value.value_->document);
  return *this;
}

Json& Json::add(Json value) {
  value_->document.push_back(std::move(value.value_->document));
  return *this;
}

Json Json::parse(std::string_view text, std::string_view name) {
  check_depth(text, name);
  try {
    return Json(std::make_unique<Value>(Value{Document::parse(text)}));
  } catch (const Document::parse_error& error) {
    fail(ErrorKind::invalid, escape(name) + ": not JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const Document::exception&) {
    fail(ErrorKind::invalid, escape(name) + ": a number is out of range");
  }
}

bool Json::is_object() const noexcept {
  return value_->document.is_object();
}
bool Json::is_array() const noexcept {
  return value_->document.is_array();
}

std::size_t Json::size() const noexcept {
  return value_->document.is_structured() ? value_->document.size() : 0;
}

std::optional<Json> Json::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  const auto found = value_->document.find(std::string(key));
  if (found == value_->document.end()) return std::nullopt;
  return Json(std::make_unique<Value>(Value{*found}));
}

std::optional<Json> Json::at(std::size_t index) const {
  if (!is_array() || index >= value_->document.size()) return std::nullopt;
  return Json(std::make_unique<Value>(Value{value_->document[index]}));
}

std::optional<double> Json::number() const {
  if (!value_->document.is_number()) return std::nullopt;
  return value_->document.get<double>();
}

std::optional<std::string> Json::text() const {
  if (!value_->document.is_string()) return std::nullopt;
  return value_->document.get<std::string>();
}

std::string Json::text(std::string_view key) const {
  return find(key).value_or(Json()).text().value_or("");
}

std::string Json::dump(int indent) const {
  return value_->document.dump(indent, ' ', /*ensure_ascii=*/false, Document::error_handler_t::replace);
}

JsonReader::JsonReader(std::string name, std::string fault) : name_(std::move(name)), fault_(std::move(fault)) {}

Json JsonReader::member(const Json& object, std::string_view key) const {
  std::optional<Json> value = object.find(key);
  if (!value) refuse("no " + quote(key));
  return std::move(*value);
}

std::string JsonReader::text(const Json& object, std::string_view key) const {
  std::optional<std::string> value = member(object, key).text();
  if (!value) refuse(quote(key) + " is no text");
  return std::move(*value);
}

std::vector<std::string> JsonReader::texts(const Json& object, std::string_view key) const {
  const Json list = member(object, key);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::optional<std::string> value = list.at(i).value_or(Json()).text();
    if (!value) refuse(quote(key) + " is no list of texts");
    out.push_back(std::move(*value));
  }
  return out;
}

double JsonReader::number(const Json& object, std::string_view key) const {
  const std::optional<double> value = member(object, key).number();
  if (!value || !(*value >= 0)) refuse(quote(key) + " is no number from 0 on");
  return *value;
}

void JsonReader::refuse(const std::string& why) const {
  fail(ErrorKind::invalid, escape(name_) + ": " + fault_ + ": " + why);
}

}  // namespace relayout
