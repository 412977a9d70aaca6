// Refuses files that are not ONNX models: "the file is empty", "text, not an ONNX model", formats of foreign.cpp, and the byte of a
// malformed protobuf message.
#include "model/diagnose.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "model/foreign.h"
#include "model/origin.h"
#include "model/protobuf_limits.h"
#include "model/wire.h"
#include "relayout/error.h"

namespace relayout {
namespace {

using google::protobuf::Message;

/// An empty message of the type of a length-delimited field of `kind`; null for strings and unknown fields.
std::unique_ptr<Message> message_of(wire::Kind kind, uint32_t field) {
  const Message* parent = nullptr;
  switch (kind) {
    case wire::Kind::model:
      parent = &onnx::ModelProto::default_instance();
      break;
    case wire::Kind::graph:
      parent = &onnx::GraphProto::default_instance();
      break;
    case wire::Kind::function:
      parent = &onnx::FunctionProto::default_instance();
      break;
    default:
      return nullptr;
  }
  const auto* const descriptor = parent->GetDescriptor()->FindFieldByNumber(static_cast<int>(field));
  if (descriptor == nullptr || descriptor->message_type() == nullptr) return nullptr;
  return std::unique_ptr<Message>(parent->GetReflection()->GetMessageFactory()->GetPrototype(descriptor->message_type())->New());
}

bool parses(const File& file, const wire::Item& item, Message& message) {
  constexpr int64_t kLongest = int64_t{64} << 20;
  if (item.end - item.payload() > kLongest) return true;
  const std::string bytes = file.text(item.payload(), item.end - item.payload());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  return message.ParsePartialFromCodedStream(&stream);
}

}  // namespace

std::string first_bytes(const File& file) {
  return file.text(0, std::min<int64_t>(file.size(), 512));
}

bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

void refuse_foreign(const File& file) {
  if (file.size() == 0) fail(ErrorKind::invalid, "the file is empty");
  const std::string bytes = first_bytes(file);
  if (const auto foreign = foreign_format(bytes)) {
    fail(ErrorKind::invalid, std::string(foreign->what), std::string(foreign->hint));
  }
  if (is_text(bytes)) {
    fail(ErrorKind::invalid, "text, not an ONNX model",
         "textual models are known by their extension (.onnxtxt, .textproto, .json) or by how they begin");
  }
}

bool begins_like_a_model(const File& file) {
  constexpr char kIrVersionTag = 0x08;
  return first_bytes(file).starts_with(kIrVersionTag);
}

void refuse_malformed(const ModelOrigin& origin) {
  // Messages are recorded from the inside out, so that the first hit is the innermost.
  for (const wire::Message& message : origin.walk.messages) {
    for (const wire::Item& item : origin.walk.items_of(message)) {
      const std::unique_ptr<Message> inner = item.type == wire::WireType::bytes ? message_of(message.kind, item.field) : nullptr;
      if (inner == nullptr || parses(*origin.file, item, *inner)) continue;
      fail(ErrorKind::invalid, "byte " + std::to_string(item.start) + ": malformed " + inner->GetDescriptor()->name());
    }
  }
  fail(ErrorKind::invalid, "not an ONNX model: malformed protobuf");
}

}  // namespace relayout
