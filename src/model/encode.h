#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

#include "model/wire.h"
#include "model/wire_reader.h"

/// Pieces of protobuf's encoding for messages that are written anew.
namespace relayout::encode {

inline constexpr uint32_t kVarint = 0, kBytes = 2;

/// The number, in at least `width` bytes (padded).
void number(std::string& out, uint64_t value, std::size_t width = 1);
void tag(std::string& out, uint32_t field, uint32_t wire_type);
/// Header of a length-delimited field.
[[nodiscard]] std::string header(uint32_t field, int64_t length);
/// The same in the form of an item of the file: its tag, its width of the length where that was padded.
[[nodiscard]] std::string header_like(wire::Reader& file, const wire::Item& item, int64_t length);

/// The bytes of an item, header included.
[[nodiscard]] inline std::string item_bytes(wire::Reader& file, const wire::Item& item) {
  return file.bytes(item.start, item.end);
}
/// Takes the walk's marks off a message (not off those inside).
void unmark(google::protobuf::Message& message);
/// The message in protobuf's own encoding, without the walk's marks on it.
[[nodiscard]] std::string serialized(const google::protobuf::Message& message);
/// Only its fields of these numbers; with `last` = kLastField what is unknown too. For messages whose large parts are written apart.
inline constexpr int kLastField = 536870911;
[[nodiscard]] std::string serialized_fields(const google::protobuf::Message& message, int first, int last);
/// Whether the payload of a length-delimited item means what `message` says.
[[nodiscard]] bool is_same(wire::Reader& file, const wire::Item& item, const google::protobuf::Message& message);

}  // namespace relayout::encode
