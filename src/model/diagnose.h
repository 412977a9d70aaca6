#pragma once

#include "model/origin.h"

namespace relayout {

/// Throws Error{invalid} when the file is recognised as something else than an ONNX model: empty, an archive, a Git LFS pointer,
/// another model format, text.
void refuse_foreign(const File& file);
/// Throws Error{invalid} for a file that the walk got through but protobuf does not parse, naming the innermost field that is wrong.
[[noreturn]] void refuse_malformed(const ModelOrigin& origin);

}  // namespace relayout
