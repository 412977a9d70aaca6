// Reads tags, numbers and lengths from a file with a buffer of one page; "byte N: …" messages for damaged files and those that are cut
// short.
#include "model/wire_reader.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "base/positions.h"
#include "model/wire.h"
#include "relayout/error.h"

namespace relayout::wire {

void Reader::malformed(int64_t offset, const std::string& what) const {
  fail(ErrorKind::invalid, "byte " + std::to_string(offset) + ": " + what);
}

void Reader::fill() {
  const int64_t count = std::min<int64_t>(static_cast<int64_t>(buffer_.size()), file_->size() - position_);
  file_->read(position_, std::span(buffer_).first(as_size(count)));
  buffer_start_ = position_;
  buffer_end_ = position_ + count;
}

uint8_t Reader::byte(int64_t end) {
  if (position_ >= end) {
    malformed(position_, end == file_->size() ? "the file ends in the middle of a field" : "a field goes beyond the message that holds it");
  }
  if (position_ < buffer_start_ || position_ >= buffer_end_) fill();
  return std::to_integer<uint8_t>(buffer_[as_size(position_++ - buffer_start_)]);
}

uint64_t Reader::varint(int64_t end) {
  // Most numbers are one byte in the buffer.
  if (position_ >= buffer_start_ && position_ < std::min(buffer_end_, end)) {
    const auto only = std::to_integer<uint8_t>(buffer_[as_size(position_ - buffer_start_)]);
    if (only < 0x80) {
      ++position_;
      return only;
    }
  }
  constexpr int kMostBits = 63;
  const int64_t start = position_;
  uint64_t value = 0;
  for (int shift = 0; shift <= kMostBits; shift += 7) {
    const uint8_t next = byte(end);
    value |= static_cast<uint64_t>(next & 0x7FU) << shift;
    if (next < 0x80) return value;
  }
  malformed(start, "a number of more than ten bytes");
}

Tag Reader::tag(int64_t end) {
  const int64_t start = position_;
  const uint64_t value = varint(end);
  const auto type = static_cast<uint8_t>(value & 7U);
  if (value > std::numeric_limits<uint32_t>::max() || value >> 3U == 0) {
    malformed(start, "field number " + std::to_string(value >> 3U) + " does not exist");
  }
  if (type > static_cast<uint8_t>(WireType::fixed32)) malformed(start, "wire type " + std::to_string(type) + " does not exist");
  return {static_cast<uint32_t>(value >> 3U), static_cast<WireType>(type)};
}

int64_t Reader::length_end(int64_t end) {
  const int64_t start = position_;
  const uint64_t value = varint(end);
  if (value > static_cast<uint64_t>(end - position_)) {
    const std::string field = "a field of " + std::to_string(value) + " bytes goes beyond ";
    if (end != file_->size()) malformed(start, field + "the message that holds it");
    malformed(start, field + "the end of the file, which has " + std::to_string(end) + " bytes: it is cut short, or no ONNX model");
  }
  return position_ + static_cast<int64_t>(value);
}

void Reader::skip(int64_t count, int64_t end) {
  if (count > end - position_) malformed(position_, "a field goes beyond the message that holds it");
  position_ += count;
}

std::string Reader::bytes(int64_t begin, int64_t end) {
  std::string out;
  out.reserve(as_size(end - begin));
  position_ = end;
  copy_since(begin, out);
  return out;
}

void Reader::copy_since(int64_t begin, std::string& out) {
  const int64_t end = position_;
  position_ = begin;
  while (position_ < end) {
    if (position_ < buffer_start_ || position_ >= buffer_end_) fill();
    const int64_t count = std::min(end, buffer_end_) - position_;
    out.append(reinterpret_cast<const char*>(buffer_.data()) + (position_ - buffer_start_), as_size(count));
    position_ += count;
  }
}

}  // namespace relayout::wire
