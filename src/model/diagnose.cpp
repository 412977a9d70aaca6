// Refuses files that are not ONNX models, and says what they are instead.
#include "model/diagnose.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include "base/file.h"
#include "model/origin.h"
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

// Formats mistaken for ONNX, by their first bytes.
namespace {

using namespace std::string_view_literals;

constexpr auto kToUnpack = "unpack it first"sv;
constexpr auto kFromTorch = "export it to ONNX first: torch.onnx.export"sv;
constexpr auto kFromTensorFlow = "export it to ONNX first: tf2onnx"sv;
constexpr auto kPicture = "a picture goes into a model: verify MODEL… --input NAME=FILE"sv;
constexpr auto kNumbers = "numbers go into a model: verify MODEL… --input NAME=FILE"sv;
constexpr auto kPage = "the download gave a page instead of the file"sv;
constexpr auto kOriginal = "give the .onnx that it was made from"sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  Foreign format;
};

/// The first match counts.
constexpr auto kSignatures = std::to_array<Signature>({
    {0, "version https://git-lfs.github.com/spec/"sv, {"a git-lfs pointer, not the model itself", "fetch the model with: git lfs pull"}},
    {0, "PK\x03\x04"sv, {"a zip archive, not an ONNX model", kToUnpack}},
    {0, "\x1F\x8B"sv, {"compressed by gzip", "unpack it first: gunzip"}},
    {0, "BZh"sv, {"compressed by bzip2", "unpack it first: bunzip2"}},
    {0, "\xFD\x37zXZ\0"sv, {"compressed by xz", "unpack it first: unxz"}},
    {0, "\x28\xB5\x2F\xFD"sv, {"compressed by zstd", "unpack it first: unzstd"}},
    {0, "7z\xBC\xAF\x27\x1C"sv, {"a 7z archive, not an ONNX model", kToUnpack}},
    {0, "Rar!\x1A\x07"sv, {"a RAR archive, not an ONNX model", kToUnpack}},
    {257, "ustar"sv, {"a tar archive, not an ONNX model", "unpack it first: tar xf"}},
    {0, "\x89HDF"sv, {"an HDF5 file, not an ONNX model", "a Keras model is exported to ONNX by tf2onnx"}},
    {4, "ORTM"sv, {"a model in ONNX Runtime's own format, not ONNX", kOriginal}},
    {4, "TFL3"sv, {"a TensorFlow Lite model, not ONNX", kFromTensorFlow}},
    {0, "GGUF"sv, {"a GGUF model, not ONNX", ""}},
    {8, "{\""sv, {"weights alone (safetensors), not an ONNX model", kFromTorch}},
    {0, "\x80\x02"sv, {"a Python pickle (as older PyTorch files are), not an ONNX model", kFromTorch}},
    {0, "\x80\x03"sv, {"a Python pickle (as older PyTorch files are), not an ONNX model", kFromTorch}},
    {0, "\x80\x04"sv, {"a Python pickle (as older PyTorch files are), not an ONNX model", kFromTorch}},
    {0, "\x80\x05"sv, {"a Python pickle (as older PyTorch files are), not an ONNX model", kFromTorch}},
    {0, "ptrt"sv, {"a TensorRT engine, not an ONNX model", kOriginal}},
    {0, "ftrt"sv, {"a TensorRT engine, not an ONNX model", kOriginal}},
    {0, "<?xml"sv, {"an XML file, not an ONNX model", "of OpenVINO? give the .onnx that it was made from"}},
    {0, "\x93NUMPY"sv, {"a NumPy array, not an ONNX model", kNumbers}},
    {0, "\x89PNG"sv, {"a PNG picture, not an ONNX model", kPicture}},
    {0, "\xFF\xD8\xFF"sv, {"a JPEG picture, not an ONNX model", kPicture}},
    {0, "GIF8"sv, {"a GIF picture, not an ONNX model", kPicture}},
    {8, "WEBP"sv, {"a WebP picture, not an ONNX model", ""}},
    {0, "II*\0"sv, {"a TIFF picture, not an ONNX model", ""}},
    {0, "MM\0*"sv, {"a TIFF picture, not an ONNX model", ""}},
    {6, "\0\0\0\0\x36\0\0\0\x28"sv, {"a BMP picture, not an ONNX model", kPicture}},
    {0, "%PDF-"sv, {"a PDF document, not an ONNX model", ""}},
    {0,
     "\x7F"
     "ELF"sv,
     {"a program or library (ELF), not an ONNX model", ""}},
    {0, "SQLite format 3"sv, {"an SQLite database, not an ONNX model", ""}},
    {0, "<!DOCTYPE html"sv, {"an HTML page, not an ONNX model", kPage}},
    {0, "<!doctype html"sv, {"an HTML page, not an ONNX model", kPage}},
    {0, "<html"sv, {"an HTML page, not an ONNX model", kPage}},
});

/// Reads protobuf's wire format from the first bytes of a file.
class Prefix {
 public:
  explicit Prefix(std::string_view bytes) : rest_(bytes) {}

  /// Consumes this byte; false if the next byte is a different one or there is none.
  bool take(char byte) {
    if (rest_.empty() || rest_.front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool is_next(char byte) const { return !rest_.empty() && rest_.front() == byte; }
  /// A varint of at most four bytes; nothing if there is none.
  std::optional<uint32_t> number() {
    uint32_t value = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(rest_.size(), 4); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= (byte & 0x7FU) << (7 * i);
      if (byte >= 0x80) continue;
      rest_.remove_prefix(i + 1);
      return value;
    }
    return std::nullopt;
  }
  /// A text field with this tag that ends within the prefix; nothing if the next field is a different one.
  std::optional<std::string_view> text(char tag) {
    if (!take(tag)) return std::nullopt;
    const auto length = number();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view out = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    return out;
  }

 private:
  std::string_view rest_;
};

/// Skips a version (field 1), the header of a message (field 2), and that of a message in it (field 1): the position is at the first byte
/// of the inner message.
std::optional<Prefix> after_version(std::string_view bytes) {
  Prefix prefix(bytes);
  const bool fits = prefix.take(8) && prefix.number() && prefix.take(0x12) && prefix.number() && prefix.take(0x0A) && prefix.number();
  return fits ? std::optional(prefix) : std::nullopt;
}

/// SavedModel: saved_model_schema_version, meta_graphs, meta_info_def, whose fields here are stripped_op_list or tags.
bool is_saved_model(std::string_view bytes) {
  const auto prefix = after_version(bytes);
  return bytes.starts_with("\x08\x01") && prefix && (prefix->is_next(0x12) || prefix->is_next(0x22));
}

/// Core ML: specificationVersion, description, input, whose first field is its name.
bool is_core_ml(std::string_view bytes) {
  const auto prefix = after_version(bytes);
  return prefix && prefix->is_next(0x0A);
}

/// A frozen graph of TensorFlow: nodes (field 1), each with name (field 1) and operator (field 2).
bool is_graph_def(std::string_view bytes) {
  Prefix prefix(bytes);
  if (!prefix.take(0x0A) || !prefix.number()) return false;
  const auto name = prefix.text(0x0A), op = name ? prefix.text(0x12) : std::nullopt;
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return name && op && !name->empty() && !op->empty() && std::ranges::all_of(*op, is_letter);
}

}  // namespace

std::optional<Foreign> foreign_format(std::string_view first_bytes) noexcept {
  // The first file in the archive that torch.save writes.
  if (first_bytes.starts_with("PK\x03\x04") && first_bytes.find("/data.pkl") != std::string_view::npos) {
    return Foreign{"a PyTorch file, not an ONNX model", kFromTorch};
  }
  for (const Signature& signature : kSignatures) {
    if (first_bytes.substr(std::min(signature.offset, first_bytes.size())).starts_with(signature.bytes)) return signature.format;
  }
  if (is_saved_model(first_bytes)) return Foreign{"a TensorFlow SavedModel, not an ONNX model", kFromTensorFlow};
  if (is_core_ml(first_bytes)) return Foreign{"a Core ML model, not an ONNX model", kOriginal};
  if (is_graph_def(first_bytes)) return Foreign{"a TensorFlow graph, not an ONNX model", kFromTensorFlow};
  return std::nullopt;
}

}  // namespace relayout
