// Declares how inputs of numbers are made of bytes, and bytes of outputs.

#pragma once

#include <cstddef>
#include <string>

#include "relayout/graph.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

/// An input or output that can be bytes.
struct BytePort {
  Value* value = nullptr;
  std::size_t rank = 0, axis = 0;  ///< of the channels
};

enum class ByteSide : bool { input, output };

/// The port of this name. Error{usage} or Error{unsupported}, named after --input-u8 or --output-u8, where there is none that can be bytes.
[[nodiscard]] BytePort find_byte_port(const Graph& graph, const ByteImages& bytes, const std::string& name, ByteSide side);

/// Gives the graph the byte inputs that `bytes` describes, with the formula as written, in double precision, in front of their readers.
/// Errors as of the pass byte-input, named after the option --input-u8.
void compute_from_bytes(Graph& graph, const ByteImages& bytes);
/// The same for outputs, as of the pass byte-output.
void compute_to_bytes(Graph& graph, const ByteImages& bytes);

}  // namespace relayout::passes
