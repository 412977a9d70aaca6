// Declares how inputs of numbers are made of bytes.

#pragma once

#include "relayout/graph.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

/// Gives the graph the byte inputs that `bytes` describes, with the formula as written, in double precision, in front of their readers.
/// Errors as of the pass byte-input, named after the option --input-u8.
void compute_from_bytes(Graph& graph, const ByteInputs& bytes);

}  // namespace relayout::passes
