#pragma once

#include <cstddef>
#include <string_view>

#include "proof/claim.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout::proof {

/// One look at a claim. Looking changes nothing but what is remembered of the two models.
[[nodiscard]] Look examine(Sides& sides, Claim claim);

// The parts of it. Each adds to `look`; those that answer whether they apply add nothing when they do not.

/// Two nodes of the same operator: attributes, operands, nested graphs.
void examine_nodes(Sides& sides, const Claim& claim, Look& look);
/// Everything of two nodes of the same operator but their operands and nested graphs.
void compare_heads(Sides& sides, const Claim& claim, std::string_view ignored, Look& look);
void examine_operands(Sides& sides, const Claim& claim, std::size_t first, Look& look);
/// Two constants; `leaf` is the initializer of the second model that holds its one, if there is one.
void compare_tensors(Sides& sides, const Claim& claim, Look& look, const Value* leaf);
/// Goes on upstream of a node that one of the two models does without.
[[nodiscard]] bool step_down(Sides& sides, Claim& claim, Look& look);
/// The operators differ, and nothing accounts for it. Where the models meet again decides what is called added or removed.
void resynchronize(Sides& sides, const Claim& claim, Look& look);
/// Two nested graphs or functions become claims about their outputs.
void pair_graphs(Sides& sides, const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look);

// fold.cpp: claims with affines, and linear operators.
void examine_affine(Sides& sides, Claim claim, Look& look);
[[nodiscard]] bool examine_linear(Sides& sides, const Claim& claim, Look& look);
/// MatMul and Add in one model, Gemm in the other, or Gemms that store their weight differently: see product_spellings.h.
[[nodiscard]] bool examine_product(Sides& sides, const Claim& claim, Look& look);

// reshapes.cpp: claims about elements in row-major order.
/// Reshapes with other requests, of other operands, or on one side alone, that come to the same dims.
[[nodiscard]] bool examine_reshaped(Sides& sides, const Claim& claim, Look& look);
void examine_flat(Sides& sides, Claim claim, Look& look);

// arithmetic.cpp
/// Both values are the same formula of other values. `strictly`: only of such as may well be the same.
[[nodiscard]] bool examine_arithmetic(Sides& sides, const Claim& claim, bool strictly, Look& look);
/// The same for nodes of one operator whose operands are others, or in another order.
[[nodiscard]] bool examine_reordered(Sides& sides, const Claim& claim, Look& look);

// slices.cpp
/// Whether a Slice or Split leaves nothing out.
[[nodiscard]] bool takes_all(Side& side, Shapes& shapes, Ref output);
/// The same part of a value along one axis, taken by different operators.
[[nodiscard]] bool examine_selection(Sides& sides, const Claim& claim, Look& look);

// roundings.cpp
/// A QuantizeLinear and a DequantizeLinear of the second model, where the first one rounds nothing: the claim goes on in front of them.
[[nodiscard]] bool examine_rounding(Sides& sides, const Claim& claim, Look& look);

// positions.cpp
/// Two nodes of one operator whose axes, indices, or beginnings and ends are the same, however they are counted.
[[nodiscard]] bool examine_positions(Sides& sides, const Claim& claim, Look& look);

// booleans.cpp
/// Both values are the same of the same boolean values, whatever And, Or, Xor, Not, Equal and Where they are made by.
[[nodiscard]] bool examine_booleans(Sides& sides, const Claim& claim, Look& look);

// comparisons.cpp
/// Both values are one comparison, with its operands exchanged.
[[nodiscard]] bool examine_comparison(Sides& sides, const Claim& claim, Look& look);

// limits.cpp
/// Both values are the same limits of one value, whatever Relu, Clip, Max and Min write them.
[[nodiscard]] bool examine_limits(Sides& sides, const Claim& claim, Look& look);

// quantized_weights.cpp
/// Transpose (DequantizeLinear (W)) of the first model is DequantizeLinear (W') of the second, W' holding W transposed.
[[nodiscard]] bool examine_moved_quantizer(Sides& sides, const Claim& claim, Look& look);

}  // namespace relayout::proof
