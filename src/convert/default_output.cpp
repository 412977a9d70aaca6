// Name of the converted model where none is given: `.cl.onnx` in place of `.onnx`, `.pb` or an extension of a text format.
#include <filesystem>
#include <string>

#include "relayout/convert.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

std::string model_extension(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  const bool is_known = extension == ".onnx" || extension == ".pb" || format_by_name(path) != FileFormat::binary;
  return is_known ? extension : std::string();
}

std::filesystem::path default_output(const std::filesystem::path& input) {
  std::filesystem::path out = input;
  if (!model_extension(input).empty()) out.replace_extension();
  if (out.extension() != kConvertedSuffix) out += kConvertedSuffix;
  out += ".onnx";
  return out;
}

}  // namespace relayout
