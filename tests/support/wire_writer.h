#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace relayout::test {

/// Writes protobuf's encoding field by field: any order, any repetition, padded numbers, groups; whatever a legal (or illegal) writer may
/// produce and protobuf's own writer does not. `padding` is the number of superfluous bytes of a number.
class WireWriter {
 public:
  WireWriter& varint(uint32_t field, uint64_t value, int padding = 0) {
    tag(field, 0);
    number(value, padding);
    return *this;
  }
  WireWriter& fixed64(uint32_t field, uint64_t value) {
    tag(field, 1);
    little_endian(value, 8);
    return *this;
  }
  WireWriter& fixed32(uint32_t field, uint32_t value) {
    tag(field, 5);
    little_endian(value, 4);
    return *this;
  }
  WireWriter& real(uint32_t field, float value) { return fixed32(field, std::bit_cast<uint32_t>(value)); }
  WireWriter& bytes(uint32_t field, std::string_view value, int padding = 0) {
    tag(field, 2);
    number(value.size(), padding);
    out_ += value;
    return *this;
  }
  WireWriter& message(uint32_t field, const WireWriter& value, int padding = 0) { return bytes(field, value.str(), padding); }
  WireWriter& group(uint32_t field, const WireWriter& value) {
    tag(field, 3);
    out_ += value.str();
    tag(field, 4);
    return *this;
  }
  WireWriter& tag(uint32_t field, uint32_t wire_type) {
    number(static_cast<uint64_t>(field) << 3U | wire_type, 0);
    return *this;
  }
  WireWriter& number(uint64_t value, int padding) {
    for (; value >= 0x80; value >>= 7U) out_.push_back(static_cast<char>(value | 0x80U));
    out_.push_back(static_cast<char>(value | (padding > 0 ? 0x80U : 0U)));
    for (; padding > 0; --padding) out_.push_back(static_cast<char>(padding > 1 ? 0x80 : 0));
    return *this;
  }
  WireWriter& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  [[nodiscard]] const std::string& str() const noexcept { return out_; }

 private:
  void little_endian(uint64_t value, int count) {
    for (int i = 0; i < count; ++i, value >>= 8U) out_.push_back(static_cast<char>(value & 0xFFU));
  }
  std::string out_;
};

/// Elements as packed little-endian bytes, as in raw_data, float_data, double_data.
template <class T>
[[nodiscard]] std::string packed(const T* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

}  // namespace relayout::test
