#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace relayout {

/// The text of a file from its beginning to its end, piece by piece. Gzip files are decompressed.
class TextSource {
 public:
  explicit TextSource(std::shared_ptr<File> file);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  /// The next piece; empty at the end. It is valid until the next call. Error{invalid} if compressed data is damaged, Error{unsupported}
  /// beyond 64 GiB of text.
  [[nodiscard]] std::string_view next();

 private:
  struct Inflater;
  [[nodiscard]] std::string_view next_raw();
  std::shared_ptr<File> file_;
  int64_t offset_ = 0, total_ = 0;
  std::string raw_, text_;
  std::unique_ptr<Inflater> inflater_;
};

/// The bytes of a JSON document, one by one. A leading byte order mark is skipped.
class JsonBytes {
 public:
  static constexpr int kNothing = -1;  ///< after the last byte

  JsonBytes(TextSource& source, std::string name);

  /// The next byte, which is not consumed, or kNothing.
  [[nodiscard]] int peek() { return at_ < piece_.size() ? static_cast<unsigned char>(piece_[at_]) : peek_at_next_piece(); }
  /// Consumes and returns the next byte, or returns kNothing.
  int take() {
    const int c = peek();
    if (c != kNothing) ++at_;
    return c;
  }
  /// The number of consumed bytes.
  [[nodiscard]] int64_t position() const noexcept { return consumed_ + static_cast<int64_t>(at_); }
  void skip_blanks();
  /// Consumes a word that must come next.
  void expect(std::string_view word);
  /// Throws Error{invalid}, which states the problem and the byte.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] int peek_at_next_piece();

  TextSource& source_;
  std::string name_;
  std::string_view piece_;
  std::size_t at_ = 0;
  int64_t consumed_ = 0;  ///< bytes before `piece_`
};

/// Reads JSON (RFC 8259) token by token. The memory depends neither on the size of the document nor on its contents: strings are at most 64
/// KiB long, levels at most 1,000 deep. Error{invalid} states the problem and the byte.
class JsonStream {
 public:
  enum class Token : uint8_t { begin_object, end_object, begin_array, end_array, key, string, number, boolean, null, end };

  /// `any_number`: also takes NaN, Infinity, -Infinity (as Python writes them) and numbers beyond double precision (infinite).
  JsonStream(TextSource& source, std::string name, bool any_number = false) : bytes_(source, std::move(name)), any_number_(any_number) {}

  /// The next token. A key comes before its value; `end` follows the only value of the document.
  Token next();
  /// The decoded text of a key or string.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] double number() const noexcept { return number_; }
  /// The number of bytes before the next token.
  [[nodiscard]] int64_t position() const noexcept { return bytes_.position(); }
  /// The number of open levels.
  [[nodiscard]] std::size_t depth() const noexcept { return levels_.size(); }
  /// Skips the next value, of any kind.
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
  bool expects_value_ = true;  ///< after a key, or at the beginning
  bool is_done_ = false, any_number_ = false;
  std::string text_;
  double number_ = 0;
};

}  // namespace relayout
