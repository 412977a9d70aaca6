#pragma once

#include "exec/lower/stages.h"
#include "exec/lower/value_facts.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/types.h"

namespace relayout::exec {

/// Whether the library applies the stage of this node to a convolution's result, which has these dims.
[[nodiscard]] bool is_applied_by_convolution(const ValueFacts& facts, const Stage& stage, const ProgramNode& node, const Dims& dims);
/// The same for a stage x · f(x) that is written as two nodes: hard-swish alone. The library takes longer for swish than a separate pass
/// (efficientnet_b0: 109 against 73 µs for 400,000 elements; Zen 5, oneDNN 3.7.2).
[[nodiscard]] bool is_gate_applied_by_convolution(const Stage& stage);
/// Whether a stage is GELU by erf and the library computes it, as a post-op of a convolution or a product: with AVX-512 alone. There it
/// takes 0.1 to 0.3 ns an element, against 0.9 in a separate pass; with AVX2 1 to 1.9 against 1.5 (Xeon of 2023 at 2.3 GHz, oneDNN 3.7.2,
/// 2026-11-25). The library's result for +∞ is NaN.
[[nodiscard]] bool is_library_gelu(const Stage& stage);
/// A function of one operand as a post-op of the library.
[[nodiscard]] PostOp function_op(const Stage& stage);

}  // namespace relayout::exec
