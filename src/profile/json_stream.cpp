// Reads texts, plain or compressed, and parses JSON of any length, piece by piece, within limits, with errors that name the place. The file
// may be hostile or larger than memory; nothing recurses.

#include "profile/json_stream.h"

#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/file.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

constexpr std::size_t kLongestString = 65536, kLongestNumber = 512, kMostLevels = 1000;
constexpr int kNothing = JsonBytes::kNothing;

bool is_number_part(int c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Skips the digits of `text` from `at` on; false if there are none.
bool pass_digits(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at > begin;
}

/// Matches -? int frac? exp? of RFC 8259.
bool is_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const bool begins_with_zero = at < text.size() && text[at] == '0';
  const std::size_t first = at;
  if (!pass_digits(text, at) || (begins_with_zero && at > first + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!pass_digits(text, at)) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!pass_digits(text, at)) return false;
  }
  return at == text.size();
}

}  // namespace

JsonBytes::JsonBytes(TextSource& source, std::string name) : source_(source), name_(std::move(name)) {
  if (peek() == 0xEF) expect("\xEF\xBB\xBF");
}

void JsonBytes::refuse(const std::string& what) const {
  fail(ErrorKind::invalid, escape(name_) + ": " + what + " (at byte " + format_count(position()) + ")");
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

JsonStream::Token JsonStream::next() {
  bytes_.skip_blanks();
  if (is_done_) {
    if (bytes_.peek() != kNothing) bytes_.refuse("not JSON: something follows the document");
    return Token::end;
  }
  if (expects_value_) return value();
  Level& level = levels_.back();
  if (bytes_.peek() == (level.is_object ? '}' : ']')) return close();
  if (!level.is_empty) {
    if (bytes_.take() != ',') bytes_.refuse(bytes_.peek() == kNothing ? "it ends early" : "not JSON: a comma is missing");
    bytes_.skip_blanks();
  }
  level.is_empty = false;
  if (!level.is_object) return value();
  if (bytes_.take() != '"') bytes_.refuse(bytes_.peek() == kNothing ? "it ends early" : "not JSON: a key is missing");
  read_string();
  bytes_.skip_blanks();
  if (bytes_.take() != ':') bytes_.refuse("not JSON: a colon is missing");
  expects_value_ = true;
  return Token::key;
}

JsonStream::Token JsonStream::value() {
  const int c = bytes_.peek();
  if (c == '{' || c == '[') return open(c == '{');
  expects_value_ = false;
  is_done_ = levels_.empty();
  switch (c) {
    case kNothing:
      bytes_.refuse("it ends early");
    case '"':
      bytes_.take();
      read_string();
      return Token::string;
    case 't':
      bytes_.expect("true");
      return Token::boolean;
    case 'f':
      bytes_.expect("false");
      return Token::boolean;
    case 'n':
      bytes_.expect("null");
      return Token::null;
    default:
      read_number();
      return Token::number;
  }
}

JsonStream::Token JsonStream::open(bool is_object) {
  if (levels_.size() == kMostLevels) bytes_.refuse("nested more than 1,000 levels deep");
  bytes_.take();
  levels_.push_back({is_object, true});
  expects_value_ = false;
  return is_object ? Token::begin_object : Token::begin_array;
}

JsonStream::Token JsonStream::close() {
  bytes_.take();
  const bool was_object = levels_.back().is_object;
  levels_.pop_back();
  is_done_ = levels_.empty();
  return was_object ? Token::end_object : Token::end_array;
}

void JsonStream::skip_value() {
  const std::size_t level = levels_.size();
  do {
    (void)next();
  } while (levels_.size() > level);
}

void JsonStream::read_string() {
  text_.clear();
  while (true) {
    const int c = bytes_.take();
    if (c == '"') return;
    if (c == kNothing) bytes_.refuse("it ends early");
    if (c < 0x20) bytes_.refuse("not JSON: a control character in a string");
    if (c == '\\') {
      read_escape();
    } else {
      text_ += static_cast<char>(c);
    }
    if (text_.size() > kLongestString) bytes_.refuse("a string of more than 64 KiB");
  }
}

uint32_t JsonStream::read_hex() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = bytes_.take();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) bytes_.refuse("not JSON: \\u without four hexadecimal digits");
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  return value;
}

void JsonStream::append(uint32_t code_point) {
  const auto add = [&](uint32_t byte) { text_ += static_cast<char>(byte); };
  if (code_point < 0x80) return add(code_point);
  if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    add(0xE0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3F));
  } else {
    add(0xF0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3F));
    add(0x80 | (code_point >> 6 & 0x3F));
  }
  add(0x80 | (code_point & 0x3F));
}

void JsonStream::read_escape() {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  constexpr uint32_t kReplacement = 0xFFFD;
  const int c = bytes_.take();
  if (c != 'u') {
    const std::size_t index = c == kNothing ? std::string_view::npos : kNames.find(static_cast<char>(c));
    if (index == std::string_view::npos) bytes_.refuse("not JSON: an unknown escape in a string");
    text_ += kMeant[index];
    return;
  }
  uint32_t unit = read_hex();
  const auto is_high = [](uint32_t value) { return value >= 0xD800 && value < 0xDC00; };
  const auto is_low = [](uint32_t value) { return value >= 0xDC00 && value < 0xE000; };
  // A surrogate without its partner encodes no character.
  while (is_high(unit) && bytes_.peek() == '\\') {
    bytes_.take();
    if (bytes_.peek() != 'u') {
      append(kReplacement);
      return read_escape();
    }
    bytes_.take();
    const uint32_t low = read_hex();
    if (is_low(low)) return append(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
    append(kReplacement);
    unit = low;
  }
  append(is_high(unit) || is_low(unit) ? kReplacement : unit);
}

void JsonStream::read_number() {
  std::string digits;
  if (any_number_ && bytes_.peek() == 'N') {
    bytes_.expect("NaN");
    number_ = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  while (is_number_part(bytes_.peek())) {
    digits += static_cast<char>(bytes_.take());
    if (digits.size() > kLongestNumber) bytes_.refuse("a number of more than 512 digits");
  }
  if (any_number_ && bytes_.peek() == 'I' && (digits.empty() || digits == "-")) {
    bytes_.expect("Infinity");
    number_ = std::numeric_limits<double>::infinity() * (digits.empty() ? 1 : -1);
    return;
  }
  if (!is_number(digits)) bytes_.refuse("not JSON");
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number_);
  if (error == std::errc::result_out_of_range) number_ = std::strtod(digits.c_str(), nullptr);  // infinite, or 0
  if (!std::isfinite(number_) && !any_number_) bytes_.refuse("a number beyond the range of double precision");
}

// Texts, plain or compressed: what expands beyond all measure is refused.
namespace {

constexpr int64_t kPiece = 1 << 18;
constexpr int64_t kMostText =
    int64_t{64} << 30;  ///< a compression bomb of 64 MiB expands to as much; traces that viewers can show are far smaller

bool is_gzip(const File& file) {
  return file.size() >= 2 && file.text(0, 2) == "\x1f\x8b";
}

}  // namespace

struct TextSource::Inflater {
  Inflater() {
    constexpr int kGzip = 16;  // added to the window's bits: gzip's header
    if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) fail(ErrorKind::io, "out of memory: reading a compressed file");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  bool ended = true;  ///< at the end of a member; another may follow
};

TextSource::TextSource(std::shared_ptr<File> file) : file_(std::move(file)) {
  if (is_gzip(*file_)) inflater_ = std::make_unique<Inflater>();
}

TextSource::~TextSource() = default;

std::string_view TextSource::next_raw() {
  const auto size = as_size(std::min(kPiece, file_->size() - offset_));
  raw_.resize(size);
  if (size > 0) file_->read(offset_, std::as_writable_bytes(std::span(raw_)));
  offset_ += static_cast<int64_t>(size);
  return raw_;
}

std::string_view TextSource::next() {
  if (!inflater_) return next_raw();
  z_stream& stream = inflater_->stream;
  text_.resize(as_size(kPiece));
  stream.next_out = reinterpret_cast<Bytef*>(text_.data());
  stream.avail_out = static_cast<uInt>(text_.size());
  while (stream.avail_out == text_.size()) {
    if (stream.avail_in == 0) {
      const std::string_view raw = next_raw();
      if (raw.empty() && inflater_->ended) return {};
      if (raw.empty()) fail(ErrorKind::invalid, escape(file_->name()) + ": the compressed data ends early");
      stream.next_in = reinterpret_cast<Bytef*>(raw_.data());
      stream.avail_in = static_cast<uInt>(raw_.size());
    }
    inflater_->ended = false;
    const int state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
      inflater_->ended = true;
      inflateReset(&stream);
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      fail(ErrorKind::invalid, escape(file_->name()) + ": the compressed data is damaged near byte " +
                                   format_count(offset_ - static_cast<int64_t>(stream.avail_in)));
    }
  }
  const std::string_view made = std::string_view(text_).substr(0, text_.size() - stream.avail_out);
  total_ += static_cast<int64_t>(made.size());
  if (total_ > kMostText) fail(ErrorKind::unsupported, escape(file_->name()) + ": holds more than 64 GiB of text");
  return made;
}

}  // namespace relayout
