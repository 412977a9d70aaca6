#include "model/text_format.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "model/save.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/model.h"

namespace relayout::text_format {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;

constexpr auto kExtensions = std::to_array<std::pair<std::string_view, FileFormat>>({
    {".onnxtxt", FileFormat::onnx_text},
    {".onnxtext", FileFormat::onnx_text},
    {".textproto", FileFormat::proto_text},
    {".pbtxt", FileFormat::proto_text},
    {".prototxt", FileFormat::proto_text},
    {".json", FileFormat::json},
});

/// ONNX's parser calls itself for each nested graph and type; a text that nests brackets without end must not reach it.
void check_nesting(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '<' || c == '(' || c == '[') ++depth;
    if ((c == '}' || c == '>' || c == ')' || c == ']') && depth > 0) --depth;
    if (depth > 3 * wire::kMaxSubgraphLevels) {
      fail(ErrorKind::unsupported, "graphs nested deeper than " + std::to_string(wire::kMaxSubgraphLevels) + " levels");
    }
  }
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return escape(text);
}

void parse_onnx_text(std::string_view text, onnx::ModelProto& model) {
  check_nesting(text);
  const std::string copy(text);
  const auto status = onnx::OnnxParser::Parse(model, copy.c_str());
  if (!status.IsOK()) fail(ErrorKind::invalid, "not a model in ONNX's textual syntax: " + one_line(status.ErrorMessage()));
}

/// Keeps the first complaint, where protobuf would print all to stderr.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first_.empty()) first_ = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message;
  }
  [[nodiscard]] const std::string& text() const noexcept { return first_; }

 private:
  std::string first_;
};

void parse_proto_text(std::string_view text, onnx::ModelProto& model) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(3 * wire::kMaxSubgraphLevels + 20);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &model)) fail(ErrorKind::invalid, "not a model in protobuf's text format: " + one_line(error.text()));
}

void parse_json(std::string_view text, onnx::ModelProto& model) {
  const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &model);
  if (!status.ok()) fail(ErrorKind::invalid, "not a model in protobuf's JSON: " + one_line(std::string(status.message())));
}

}  // namespace

FileFormat format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  const auto* const known = std::ranges::find(kExtensions, extension, &std::pair<std::string_view, FileFormat>::first);
  return known == kExtensions.end() ? FileFormat::binary : known->second;
}

std::string read_whole(const File& file) {
  if (file.size() > kLargest) fail(ErrorKind::unsupported, "a textual model of more than " + format_bytes(kLargest));
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string to_binary(std::string_view text, FileFormat format) {
  if (static_cast<int64_t>(text.size()) > kLargest) fail(ErrorKind::unsupported, "a textual model of more than " + format_bytes(kLargest));
  onnx::ModelProto model;
  switch (format) {
    case FileFormat::onnx_text:
      parse_onnx_text(text, model);
      break;
    case FileFormat::proto_text:
      parse_proto_text(text, model);
      break;
    case FileFormat::json:
      parse_json(text, model);
      break;
    default:
      fail(ErrorKind::defect, "a binary model is no text");
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) fail(ErrorKind::unsupported, "a textual model of more than 2 GiB");
  return bytes;
}

std::string from_binary(const std::string& bytes, FileFormat format) {
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(3 * wire::kMaxSubgraphLevels + 20);
  if (!model.ParseFromCodedStream(&stream)) fail(ErrorKind::defect, "a model to be printed does not parse");
  std::string text;
  switch (format) {
    case FileFormat::onnx_text:
      return onnx::ProtoToString(model) + "\n";
    case FileFormat::proto_text:
      google::protobuf::TextFormat::PrintToString(model, &text);
      break;
    case FileFormat::json: {
      google::protobuf::util::JsonPrintOptions options;
      options.add_whitespace = true;
      options.preserve_proto_field_names = true;
      const auto status = google::protobuf::util::MessageToJsonString(model, &text, options);
      if (!status.ok()) fail(ErrorKind::unsupported, "cannot be written as JSON: " + one_line(std::string(status.message())));
      break;
    }
    default:
      fail(ErrorKind::defect, "binary is no textual form");
  }
  return text;
}

}  // namespace relayout::text_format

namespace relayout {

std::string to_text(const Model& model) {
  return text_format::from_binary(to_bytes(model), FileFormat::onnx_text);
}

}  // namespace relayout
