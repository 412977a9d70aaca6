#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout {

/// A JSON value, built for a report or read from a file. Keys keep the order in which they were set. A non-finite float is the string
/// "nan", "inf" or "-inf"; bytes that are not UTF-8 are printed as U+FFFD. Copies are deep.
class Json {
 public:
  Json();  ///< null
  ~Json();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;

  // NOLINTBEGIN(google-explicit-constructor): a plain value is a JSON value
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(double number);
  template <std::same_as<bool> Bool>
  Json(Bool value) : Json(of_bool(value)) {}
  template <std::signed_integral Integer>
  Json(Integer value) : Json(of_signed(value)) {}
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  Json(Integer value) : Json(of_unsigned(value)) {}
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  template <class T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const T& value : values) add(value);
  }
  template <class T>
  Json(const std::map<std::string, T>& members) : Json(object()) {
    for (const auto& [name, value] : members) set(name, value);
  }
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] static Json object();
  [[nodiscard]] static Json array();
  /// An array of what `of` makes of each item.
  template <class Items, class Of>
  [[nodiscard]] static Json list(const Items& items, Of of) {
    Json out = array();
    for (const auto& item : items) out.add(std::invoke(of, item));
    return out;
  }
  /// Adds or replaces a member; turns null into an object. Returns this object.
  Json& set(std::string_view key, Json value) &;
  Json&& set(std::string_view key, Json value) && { return std::move(set(key, std::move(value))); }
  /// Appends an element; turns null into an array. Returns this array.
  Json& add(Json value);

  /// Parses a document of at most 64 levels. Error{invalid} gives `name` and the place of the fault.
  [[nodiscard]] static Json parse(std::string_view text, std::string_view name);
  [[nodiscard]] bool is_object() const noexcept;
  [[nodiscard]] bool is_array() const noexcept;
  /// Number of members of an object or elements of an array; 0 for other values.
  [[nodiscard]] std::size_t size() const noexcept;
  /// A copy of a member or element; nothing when there is none.
  [[nodiscard]] std::optional<Json> find(std::string_view key) const;
  [[nodiscard]] std::optional<Json> at(std::size_t index) const;
  /// The value as a number, text …; nothing when it is of a different kind.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::optional<std::string> text() const;
  /// The text of a member; empty when there is none or it is no text.
  [[nodiscard]] std::string text(std::string_view key) const;

  /// The document as text, with `indent` blanks per level, or on one line if `indent` is negative. No newline at the end.
  [[nodiscard]] std::string dump(int indent = 2) const;

 private:
  struct Value;
  explicit Json(std::unique_ptr<Value> value);
  static Json of_bool(bool value);
  static Json of_signed(int64_t value);
  static Json of_unsigned(uint64_t value);
  std::unique_ptr<Value> value_;
};

/// Reads members that must be there, of their kind. Error{invalid} with the file's name, its fault ("no profile of relayout") and the
/// reason.
class JsonReader {
 public:
  JsonReader(std::string name, std::string fault);
  [[nodiscard]] Json member(const Json& object, std::string_view key) const;
  [[nodiscard]] std::string text(const Json& object, std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(const Json& object, std::string_view key) const;
  /// A number from 0 on.
  [[nodiscard]] double number(const Json& object, std::string_view key) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string name_, fault_;
};

}  // namespace relayout
