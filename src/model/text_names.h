#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace relayout {

/// Whether ONNX's syntax takes a name without quotes.
[[nodiscard]] bool is_identifier(const std::string& name);

/// Gives the names that `original` does not have a form that ONNX's syntax can say: values get identifiers, nodes lose their names.
void make_new_names_writable(onnx::ModelProto& model, const onnx::ModelProto& original);

}  // namespace relayout
