// Gives out the bytes of a document that comes in pieces, and knows where it is.
#include "diff/json_bytes.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diff/text_source.h"
#include "relayout/error.h"

namespace relayout {

JsonBytes::JsonBytes(TextSource& source, std::string name) : source_(source), name_(std::move(name)) {
  if (peek() == 0xEF) expect("\xEF\xBB\xBF");
}

void JsonBytes::refuse(const std::string& what) const {
  fail(ErrorKind::invalid, escape(name_) + ": " + what + " (at byte " + format_count(consumed_ + static_cast<int64_t>(at_)) + ")");
}

int JsonBytes::peek_at_next_piece() {
  consumed_ += static_cast<int64_t>(at_);
  at_ = 0;
  piece_ = source_.next();
  return piece_.empty() ? kNothing : static_cast<unsigned char>(piece_.front());
}

void JsonBytes::skip_blanks() {
  for (int c = peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek()) ++at_;
}

void JsonBytes::expect(std::string_view word) {
  for (const char c : word) {
    if (take() != static_cast<unsigned char>(c)) refuse("not JSON");
  }
}

}  // namespace relayout
