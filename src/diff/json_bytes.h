#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace relayout
