// Decides from extension and first bytes whether a file given to `diff` is a model, or else a trace or profile; standard input ("-") is
// never a model.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/standard_stream.h"
#include "diff/text_source.h"
#include "model/diagnose.h"
#include "model/text_format.h"
#include "relayout/diff.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr std::size_t kHead = 4096;

/// The first bytes of the decompressed file.
std::string head_of(const std::shared_ptr<File>& file) {
  TextSource source(file);
  std::string out;
  for (std::string_view piece = source.next(); !piece.empty() && out.size() < kHead; piece = source.next()) out += piece.substr(0, kHead);
  return out;
}

/// Traces are JSON or, from OpenVINO, tables.
bool is_of_models_alone(FileFormat format) {
  return format == FileFormat::onnx_text || format == FileFormat::proto_text;
}

}  // namespace

bool holds_model(const std::filesystem::path& path) {
  if (is_stream(path)) return false;
  if (is_of_models_alone(text_format::format_of(path))) return true;
  const std::shared_ptr<File> file = File::open(path);
  const std::string head = head_of(file);
  if (!is_text(head) || is_of_models_alone(text_format::format_of(*file))) return true;
  // The JSON form of a protobuf model begins with its lowest field.
  return head.find("\"irVersion\"") != std::string::npos || head.find("\"ir_version\"") != std::string::npos;
}

}  // namespace relayout
