// Reads tags, numbers, lengths and nodes from protobuf's encoding, and says where a damaged file is wrong.
#include <onnx/onnx_pb.h>

#include "base/numbers.h"
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

namespace relayout {

// Nodes without protobuf's parser: a model of 100,000 nodes has 100,000 names but only a few dozen kinds of nodes.
namespace {

using onnx::NodeProto;

/// The fields of a message in memory, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return at_ == bytes_.size(); }
  /// Reads the next field: its number, and its payload if length-delimited. False for malformed bytes and groups.
  bool next() {
    const std::size_t start = at_;
    const std::optional<uint64_t> tag = varint();
    if (!tag) return false;
    number = *tag >> 3U;
    payload.reset();
    switch (static_cast<wire::WireType>(*tag & 7U)) {
      case wire::WireType::varint:
        if (!varint()) return false;
        break;
      case wire::WireType::fixed32:
        if (!skip(4)) return false;
        break;
      case wire::WireType::fixed64:
        if (!skip(8)) return false;
        break;
      case wire::WireType::bytes: {
        const std::optional<uint64_t> length = varint();
        const std::size_t begin = at_;
        if (!length || !skip(*length)) return false;
        payload = bytes_.substr(begin, *length);
        break;
      }
      default:
        return false;
    }
    whole = bytes_.substr(start, at_ - start);
    return true;
  }

  uint64_t number = 0;
  std::optional<std::string_view> payload;
  std::string_view whole;

 private:
  std::optional<uint64_t> varint() {
    constexpr unsigned kMostBits = 64;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < kMostBits && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80U) return value;
    }
    return std::nullopt;
  }
  bool skip(uint64_t count) {
    if (count > bytes_.size() - at_) return false;
    at_ += count;
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

bool PlainNode::read(std::string_view bytes) {
  name = {};
  inputs.clear();
  outputs.clear();
  rest.clear();
  for (Fields fields(bytes); !fields.at_end();) {
    if (!fields.next()) return false;
    if (fields.payload && fields.number == NodeProto::kInputFieldNumber) {
      inputs.push_back(*fields.payload);
    } else if (fields.payload && fields.number == NodeProto::kOutputFieldNumber) {
      outputs.push_back(*fields.payload);
    } else {
      const bool is_name = fields.payload && fields.number == NodeProto::kNameFieldNumber;
      if (is_name) name = *fields.payload;
      if (!is_name || name.empty()) rest += fields.whole;
    }
  }
  return true;
}

// Limits of protobuf.

void refuse_large_file(int64_t bytes) {
  if (bytes <= kLargestMessage) return;
  fail(ErrorKind::unsupported, "the model file would have " + format_bytes(bytes) + ", protobuf allows 2 GiB",
       "let tensors go to a data file: --external-data always");
}

void refuse_large_stream(int64_t bytes) {
  if (bytes <= kLargestMessage) return;
  fail(ErrorKind::unsupported, "the model has " + format_bytes(bytes) + ", protobuf allows 2 GiB in one file");
}

void fail_large_skeleton() {
  fail(ErrorKind::unsupported, "without its tensors the model is larger than 2 GiB, the limit of protobuf");
}

void fail_large_text() {
  fail(ErrorKind::unsupported, "a textual model of more than 2 GiB");
}

void fail_nesting(std::string_view what, int most) {
  fail(ErrorKind::unsupported, std::string(what) + " nested deeper than " + std::to_string(most) + " levels");
}

}  // namespace relayout
