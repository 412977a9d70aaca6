#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "relayout/model.h"

namespace onnx {
class ModelProto;
}

/// The textual forms of a model: ONNX's own syntax, protobuf's text format and protobuf's JSON. They are held whole.
namespace relayout::text_format {

/// By extension; binary for everything that is not one of the textual ones.
[[nodiscard]] FileFormat format_of(const std::filesystem::path& path);
/// By how a file begins, for files whose extension says nothing: binary for everything that does not begin as a textual form does.
[[nodiscard]] FileFormat format_of(const File& file);
/// A whole file as a string; Error{unsupported} above 1 GiB.
[[nodiscard]] std::string read_whole(const File& file);
/// The binary form of a textual model. Error{invalid} with the place of the first mistake.
[[nodiscard]] std::string to_binary(std::string_view text, FileFormat format);
/// A binary model in a textual form that reads back as the same model. Error{unsupported} names what the form cannot say: ONNX's syntax
/// has no names of nodes, and only identifiers as other names. A value that is not in `original`, the binary form of the model before it
/// was converted, gets a name that the form can say.
[[nodiscard]] std::string from_binary(const std::string& bytes, FileFormat format, const std::string& original);
/// A binary model in ONNX's syntax as far as that goes, for people to read.
[[nodiscard]] std::string print(const std::string& bytes);

}  // namespace relayout::text_format
