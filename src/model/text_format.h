#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "relayout/model.h"

namespace relayout {

/// Whether ONNX's syntax allows a name without quotes.
[[nodiscard]] bool is_identifier(const std::string& name);

/// Changes names that are not in `original` to a form that ONNX's syntax can express: values get identifiers, nodes lose their names.
void make_new_names_writable(onnx::ModelProto& model, const onnx::ModelProto& original);

}  // namespace relayout

namespace onnx {

class ModelProto;

}

namespace relayout::text_format {

/// The textual forms of a model: ONNX's syntax, protobuf's text format, and protobuf's JSON. They are held whole in memory.

/// The format by extension; binary for all but the textual extensions.
[[nodiscard]] FileFormat format_of(const std::filesystem::path& path);
/// The format by the start of a file, for files with other extensions; binary unless the file begins like a textual form.
[[nodiscard]] FileFormat format_of(const File& file);
/// A whole file as a string; Error{unsupported} above 1 GiB.
[[nodiscard]] std::string read_whole(const File& file);
/// The binary form of a textual model. Error{invalid} with the place of the first fault.
[[nodiscard]] std::string to_binary(std::string_view text, FileFormat format);
/// A binary model in a textual form that reads back as the same model. Error{unsupported} names the part that the form cannot express:
/// ONNX's syntax has no names of nodes, and only identifiers as other names. `original` is the binary form of the model before conversion;
/// values that are not in it get names that the form can express.
[[nodiscard]] std::string from_binary(const std::string& bytes, FileFormat format, const std::string& original);
/// A binary model in ONNX's syntax for reading only; parts that the syntax cannot express are lost.
[[nodiscard]] std::string print(const std::string& bytes);

}  // namespace relayout::text_format
