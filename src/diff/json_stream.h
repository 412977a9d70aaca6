#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diff/text_source.h"

namespace relayout {

/// The bytes of a JSON document, one by one; a mark of byte order in front is no part of them.
class JsonBytes {
 public:
  static constexpr int kNothing = -1;  ///< behind the last byte

  JsonBytes(TextSource& source, std::string name);

  /// The next byte, which stays the next one, or kNothing.
  [[nodiscard]] int peek() { return at_ < piece_.size() ? static_cast<unsigned char>(piece_[at_]) : peek_at_next_piece(); }
  /// The next byte, which is passed over.
  int take() {
    const int c = peek();
    if (c != kNothing) ++at_;
    return c;
  }
  void skip_blanks();
  /// Passes over a word that must come next.
  void expect(std::string_view word);
  /// Error{invalid}: what is wrong, and at which byte.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] int peek_at_next_piece();

  TextSource& source_;
  std::string name_;
  std::string_view piece_;
  std::size_t at_ = 0;
  int64_t consumed_ = 0;  ///< bytes before the piece
};

/// Reads JSON (RFC 8259) token by token in memory that depends neither on the size of the document nor on what it holds: strings are
/// at most 64 KiB long, levels at most 1,000 deep. Error{invalid} says what is wrong and at which byte.
class JsonStream {
 public:
  enum class Token : uint8_t { begin_object, end_object, begin_array, end_array, key, string, number, boolean, null, end };

  JsonStream(TextSource& source, std::string name) : bytes_(source, std::move(name)) {}

  /// The next token. Keys come before their values; `end` behind the only value of the document.
  Token next();
  /// Of a key or string: decoded.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] double number() const noexcept { return number_; }
  /// Levels that are open.
  [[nodiscard]] std::size_t depth() const noexcept { return levels_.size(); }
  /// Passes over the value that comes next, whatever it is.
  void skip_value();

 private:
  struct Level {
    bool is_object = false, is_empty = true;
  };
  Token value();
  Token open(bool is_object);
  Token close();
  void read_string();
  void read_escape();
  [[nodiscard]] uint32_t read_hex();
  void append(uint32_t code_point);
  void read_number();

  JsonBytes bytes_;
  std::vector<Level> levels_;
  bool expects_value_ = true;  ///< behind a key, or at the beginning
  bool is_done_ = false;
  std::string text_;
  double number_ = 0;
};

}  // namespace relayout
