#pragma once

#include <cstddef>
#include <string_view>

#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout::proof {

/// Examines one claim. Only caches of the two models change.
[[nodiscard]] Look examine(Sides& sides, Claim claim);

// Parts of examine(). Each adds to `look`; those that return whether they apply add nothing if they do not.

/// Compares two nodes of the same operator: attributes, operands, nested graphs.
void examine_nodes(Sides& sides, const Claim& claim, Look& look);
/// Compares two nodes of the same operator except for their operands and nested graphs.
void compare_heads(Sides& sides, const Claim& claim, std::string_view ignored, Look& look);
void examine_operands(Sides& sides, const Claim& claim, std::size_t first, Look& look);
/// Continues upstream of a node that only one of the two models has.
[[nodiscard]] bool step_down(Sides& sides, Claim& claim, Look& look);
/// Handles different operators that nothing accounts for. The point where the models meet again decides which nodes are added or removed.
void resynchronize(Sides& sides, const Claim& claim, Look& look);
/// Turns two nested graphs or functions into claims about their outputs.
void pair_graphs(Sides& sides, const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look);

// examine_constants.cpp
/// Compares two stored constants.
[[nodiscard]] bool examine_stored(Sides& sides, const Claim& claim, Look& look);
/// Compares the results of two nodes that follow from constants; of nodes of the same operator only if dims alone decide them.
[[nodiscard]] bool examine_evaluated(Sides& sides, const Claim& claim, bool is_same_operator, Look& look);
/// Compares two constants; `leaf` is the initializer of the second model that holds its constant, if any.
void compare_tensors(Sides& sides, const Claim& claim, Look& look, const Value* leaf);

// carried_affines.cpp: claims with affines, and linear operators.
void examine_affine(Sides& sides, Claim claim, Look& look);
[[nodiscard]] bool examine_linear(Sides& sides, const Claim& claim, Look& look);
/// MatMul and Add in one model, Gemm in the other, or Gemms that store their weight differently: see read_product().
[[nodiscard]] bool examine_product(Sides& sides, const Claim& claim, Look& look);

// reshapes.cpp: claims about elements in row-major order.
/// Reshapes with different requests, of different operands, or on one side alone, that result in the same dims.
[[nodiscard]] bool examine_reshaped(Sides& sides, const Claim& claim, Look& look);
void examine_flat(Sides& sides, Claim claim, Look& look);

// arithmetic.cpp
/// Both values are the same formula of other values. `strictly`: pairs only values that may well be the same.
[[nodiscard]] bool examine_arithmetic(Sides& sides, const Claim& claim, bool strictly, Look& look);
/// Applies examine_arithmetic() or examine_booleans() to nodes of one operator with different or reordered operands.
[[nodiscard]] bool examine_reordered(Sides& sides, const Claim& claim, Look& look);

// selections.cpp
/// Whether a Slice or Split selects all of its operand.
[[nodiscard]] bool takes_all(Side& side, Shapes& shapes, Ref output);
/// The same part of a value along one axis, selected by different operators.
[[nodiscard]] bool examine_selection(Sides& sides, const Claim& claim, Look& look);

// quantizers.cpp
/// A QuantizeLinear and a DequantizeLinear of the second model without a counterpart in the first: the claim continues upstream of them.
[[nodiscard]] bool examine_rounding(Sides& sides, const Claim& claim, Look& look);

/// Two nodes of one operator whose axes, indices, or begins and ends are the same, however they are counted.
[[nodiscard]] bool examine_positions(Sides& sides, const Claim& claim, Look& look);

// booleans.cpp
/// Both values are the same function of the same boolean values, by any And, Or, Xor, Not, Equal and Where.
[[nodiscard]] bool examine_booleans(Sides& sides, const Claim& claim, Look& look);

/// Both values are one comparison, with its operands exchanged.
[[nodiscard]] bool examine_comparison(Sides& sides, const Claim& claim, Look& look);

// limits.cpp
/// Both values are one value with the same limits, by any Relu, Clip, Max and Min.
[[nodiscard]] bool examine_limits(Sides& sides, const Claim& claim, Look& look);

/// Transpose (DequantizeLinear (W)) of the first model equals DequantizeLinear (W') of the second, where W' is W transposed.
[[nodiscard]] bool examine_moved_quantizer(Sides& sides, const Claim& claim, Look& look);

}  // namespace relayout::proof
