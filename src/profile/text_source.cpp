// Reads a text, plain or compressed, in pieces, and refuses what expands beyond all measure. A trace may be larger than memory, and a
// small compressed file may expand to a huge one.
#include "profile/text_source.h"

#include <zlib.h>

#include "base/file.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
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
