// Declares how inputs of numbers are made of bytes, and bytes of outputs.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {

/// An input or output that can be bytes.
struct BytePort {
  Value* value = nullptr;
  std::size_t rank = 0, axis = 0;  ///< of the channels
};

enum class ByteSide : bool { input, output };

/// Numbers of a conversion between bytes and numbers, for all channels or for each; empty where they have no effect.
struct ByteArithmetic {
  std::vector<double> factors, shifts;
};
/// What is added to bytes, and by what they are multiplied then.
[[nodiscard]] ByteArithmetic bytes_to_numbers(const ByteImages& bytes);
/// By what numbers are multiplied, and what is added then.
[[nodiscard]] ByteArithmetic numbers_to_bytes(const ByteImages& bytes);

/// The port of this name, which is of this type. Error{usage} or Error{unsupported}, named after --input-u8 or --output-u8, where there is
/// none that can be bytes.
[[nodiscard]] BytePort find_byte_port(const Graph& graph, const ByteImages& bytes, const std::string& name, ByteSide side,
                                      DataType type = DataType::float32);

/// Gives the graph the byte inputs that `bytes` describes, with the formula as written, in double precision, in front of their readers.
/// Errors as of the pass byte-input, named after the option --input-u8.
void compute_from_bytes(Graph& graph, const ByteImages& bytes);
/// The same for outputs, as of the pass byte-output.
void compute_to_bytes(Graph& graph, const ByteImages& bytes);

}  // namespace relayout::passes
