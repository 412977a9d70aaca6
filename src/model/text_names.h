#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace relayout {

/// Whether ONNX's syntax allows a name without quotes.
[[nodiscard]] bool is_identifier(const std::string& name);

/// Changes names that are not in `original` to a form that ONNX's syntax can express: values get identifiers, nodes lose their names.
void make_new_names_writable(onnx::ModelProto& model, const onnx::ModelProto& original);

}  // namespace relayout
