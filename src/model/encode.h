#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <string>

#include "model/wire.h"
#include "model/wire_reader.h"

/// Parts of protobuf's encoding for messages that are re-encoded.
namespace relayout::encode {

inline constexpr uint32_t kVarint = 0, kBytes = 2;

/// Appends the number as a varint of at least `width` bytes (padded).
void number(std::string& out, uint64_t value, std::size_t width = 1);
void tag(std::string& out, uint32_t field, uint32_t wire_type);
/// Header of a length-delimited field.
[[nodiscard]] std::string header(uint32_t field, int64_t length);
/// Header of a field in the form of an item of the file: its tag, and the width of its length if that was padded.
[[nodiscard]] std::string header_like(wire::Reader& file, const wire::Item& item, int64_t length);

/// The bytes of an item, header included.
[[nodiscard]] inline std::string item_bytes(wire::Reader& file, const wire::Item& item) {
  return file.bytes(item.start, item.end);
}
/// Removes the walk's markers from the unknown fields of a message.
void unmark(google::protobuf::UnknownFieldSet& unknown);
// Templates on the type, as protobuf's reflection takes a millisecond to initialize.
/// Removes the walk's markers from a message (not from messages inside it).
template <class Message>
void unmark(Message& message) {
  if (!message.unknown_fields().empty()) unmark(*message.mutable_unknown_fields());
}
/// The message in protobuf's encoding, without the walk's markers on it.
template <class Message>
[[nodiscard]] std::string serialized(const Message& message) {
  if (message.unknown_fields().empty()) return message.SerializePartialAsString();
  Message copy = message;
  unmark(copy);
  return copy.SerializePartialAsString();
}
/// Encoding of the fields in a range of numbers; with `last` = kLastField, of unknown fields, too. For messages whose large parts are
/// written separately.
inline constexpr int kLastField = 536870911;
[[nodiscard]] std::string serialized_fields(const google::protobuf::Message& message, int first, int last);
/// Parses the payload of an item; false if it is not a message of this type.
[[nodiscard]] bool parse_item(wire::Reader& file, const wire::Item& item, google::protobuf::Message& out);
/// Whether the payload of a length-delimited item is equal to `message` after parsing.
template <class Message>
[[nodiscard]] bool is_same(wire::Reader& file, const wire::Item& item, const Message& message) {
  Message original;
  if (!parse_item(file, item, original)) return false;
  if (message.unknown_fields().empty() && original.ByteSizeLong() != message.ByteSizeLong()) return false;
  return serialized(original) == serialized(message);
}

}  // namespace relayout::encode
