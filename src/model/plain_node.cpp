// Decodes nodes without protobuf's parser: name and operands apart from the rest, which nodes of one kind share. A model of 100,000 nodes
// has 100,000 names but only a few dozen kinds of nodes.
#include "model/plain_node.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/wire.h"

namespace relayout {
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

}  // namespace relayout
