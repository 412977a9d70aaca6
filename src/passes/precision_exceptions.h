#pragma once

#include <string_view>

#include "relayout/graph.h"

namespace relayout::passes {

/// Why an operand of a node stays in 32 bits, with all operands of its type; empty when 16 bits do.
[[nodiscard]] std::string_view fragile_reason(const Node& node, std::size_t input);

/// Whether ONNX Runtime takes 16 bits for this node when it loads a model, and then fails to run it on the CPU. (It casts where it has no
/// kernel for f16 at all. bf16 it runs for few operators.)
[[nodiscard]] bool lacks_kernel(const Node& node);

}  // namespace relayout::passes
