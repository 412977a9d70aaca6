// Encodes protobuf tags, lengths and fields for the parts of messages that saving does not copy from the file, without the markers of the
// walk.
#include "model/encode.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "model/protobuf_limits.h"
#include "model/wire.h"
#include "model/wire_reader.h"

namespace relayout::encode {

void number(std::string& out, uint64_t value, std::size_t width) {
  std::size_t written = 1;
  for (; value >= 0x80 || written < width; value >>= 7U, ++written) out.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

void tag(std::string& out, uint32_t field, uint32_t wire_type) {
  number(out, static_cast<uint64_t>(field) << 3U | wire_type);
}

std::string header(uint32_t field, int64_t length) {
  std::string out;
  tag(out, field, kBytes);
  number(out, static_cast<uint64_t>(length));
  return out;
}

std::string header_like(wire::Reader& file, const wire::Item& item, int64_t length) {
  const std::string original = file.bytes(item.start, item.payload());
  std::size_t tag_size = 1;
  while ((static_cast<unsigned char>(original[tag_size - 1]) & 0x80U) != 0) ++tag_size;
  std::string needed;
  number(needed, static_cast<uint64_t>(item.end - item.payload()));
  const std::size_t width = original.size() - tag_size;
  std::string out = original.substr(0, tag_size);
  number(out, static_cast<uint64_t>(length), width > needed.size() ? width : 1);
  return out;
}

void unmark(google::protobuf::UnknownFieldSet& unknown) {
  unknown.DeleteByNumber(wire::kMarkerField);
  unknown.DeleteByNumber(wire::kElidedField);
}

std::string serialized_fields(const google::protobuf::Message& message, int first, int last) {
  const std::unique_ptr<google::protobuf::Message> copy(message.New());
  copy->CopyFrom(message);
  const auto& reflection = *copy->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(*copy, &fields);
  for (const auto* field : fields) {
    if (field->number() < first || field->number() > last) reflection.ClearField(copy.get(), field);
  }
  google::protobuf::UnknownFieldSet& unknown = *reflection.MutableUnknownFields(copy.get());
  last == kLastField ? unmark(unknown) : unknown.Clear();
  return copy->SerializePartialAsString();
}

bool parse_item(wire::Reader& file, const wire::Item& item, google::protobuf::Message& out) {
  const std::string stored = item_bytes(file, item);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(stored.data()) + item.header,
                                                static_cast<int>(stored.size()) - item.header);
  stream.SetRecursionLimit(kRecursionLimit);
  return out.ParsePartialFromCodedStream(&stream);
}

}  // namespace relayout::encode
