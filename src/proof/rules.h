#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout::proof {

/// Examines one claim. Only caches of the two models change.
[[nodiscard]] Look examine(Sides& sides, const Claim& claim);

// Rules for one claim: the table of rules.cpp has their order. Both values are resolved, and there.

/// What a rule adds to a look; nothing where it does not apply, so that no rule leaves a part of its findings behind.
using Found = std::optional<Look>;

// constants.cpp
/// Two stored constants.
[[nodiscard]] Found examine_stored(Sides& sides, const Claim& claim);
/// The results of two nodes that follow from constants.
[[nodiscard]] Found examine_evaluated(Sides& sides, const Claim& claim);
/// The same for nodes of one operator whose results dims alone decide: these depend on no element of their operand.
[[nodiscard]] Found examine_sizes(Sides& sides, const Claim& claim);

// integers.cpp
/// A value of int64 and the same numbers in int32, made by nodes that only move them, or in front of a Cast to int64.
[[nodiscard]] Found examine_integers(Sides& sides, const Claim& claim);
/// Whether a node's result follows from the numbers of its operand, whatever integer type holds them.
[[nodiscard]] bool takes_numbers(Sides& sides, const Claim& claim, std::size_t operand);

// carried_affines.cpp: claims with affines, and linear operators.
[[nodiscard]] Found examine_linear(Sides& sides, const Claim& claim);
/// MatMul and Add in one model, Gemm in the other, or Gemms that store their weight differently: see read_product().
[[nodiscard]] Found examine_product(Sides& sides, const Claim& claim);
/// Affines that only one model has, or that are not the same.
[[nodiscard]] Found examine_affine(Sides& sides, const Claim& claim);
/// Affines of one operator with other constants: another may have been folded into one of them.
[[nodiscard]] Found examine_changed_affine(Sides& sides, const Claim& claim);

// reshapes.cpp: claims about elements in row-major order.
/// Reshapes with different requests, of different operands, or on one side alone, that result in the same dims.
[[nodiscard]] Found examine_reshaped(Sides& sides, const Claim& claim);
/// The same for reshaping nodes in both models.
[[nodiscard]] Found examine_two_reshapes(Sides& sides, const Claim& claim);

/// Reshapes of which the second one finds the one dim that the first computes.
[[nodiscard]] Found examine_requests(Sides& sides, const Claim& claim);

// arithmetic.cpp
/// Both values are the same formula of other values.
[[nodiscard]] Found examine_formula(Sides& sides, const Claim& claim);
/// A call and the formula that it computes, before the call is entered.
[[nodiscard]] Found examine_call(Sides& sides, const Claim& claim);
/// Applies examine_formula() or examine_booleans() to nodes of one operator with different or reordered operands.
[[nodiscard]] Found examine_reordered(Sides& sides, const Claim& claim);

// scaled_values.cpp
/// One value, or parts of one table, times constants of the same product, more of them in one model.
[[nodiscard]] Found examine_merged_factors(Sides& sides, const Claim& claim);
/// The same where both have as many.
[[nodiscard]] Found examine_spread_factors(Sides& sides, const Claim& claim);

// selections.cpp
/// The same part of a value along one axis, selected by different operators.
[[nodiscard]] Found examine_selection(Sides& sides, const Claim& claim);
/// Two nodes of one operator whose axes, indices, or begins and ends are the same, however they are counted.
[[nodiscard]] Found examine_positions(Sides& sides, const Claim& claim);
/// Slices in a row of one model, and others in the other, that take the same parts of one value.
[[nodiscard]] Found examine_slices(Sides& sides, const Claim& claim);
/// Two Resizes with aligned corners to the same dims, however these are requested.
[[nodiscard]] Found examine_resized(Sides& sides, const Claim& claim);

// rows.cpp
/// Transposes, Casts or reshapes in a row of one model, and fewer or none in the other, that do the same.
[[nodiscard]] Found examine_rows(Sides& sides, const Claim& claim);

// quantizers.cpp
/// Integers that one model alone dequantizes and quantizes again by the same numbers.
[[nodiscard]] Found examine_requantized(Sides& sides, const Claim& claim);
/// A QuantizeLinear and a DequantizeLinear of the second model without a counterpart in the first: the claim continues upstream of them.
[[nodiscard]] Found examine_rounding(Sides& sides, const Claim& claim);
/// Transpose (DequantizeLinear (W)) of the first model equals DequantizeLinear (W') of the second, where W' is W transposed.
[[nodiscard]] Found examine_moved_quantizer(Sides& sides, const Claim& claim);

// booleans.cpp
/// Both values are the same function of the same boolean values, by any And, Or, Xor, Not, Equal and Where.
[[nodiscard]] Found examine_booleans(Sides& sides, const Claim& claim);
/// Both values are one comparison, with its operands exchanged.
[[nodiscard]] Found examine_comparison(Sides& sides, const Claim& claim);

// limits.cpp
/// Both values are one value with the same limits, by any Relu, Clip, Max and Min.
[[nodiscard]] Found examine_limits(Sides& sides, const Claim& claim);
/// The same for one operator, where other limits are upstream of it in either model.
[[nodiscard]] Found examine_nested_limits(Sides& sides, const Claim& claim);
/// Both values are conditions that hold for the same numbers of one integer value, by any comparisons with constants.
[[nodiscard]] Found examine_selected(Sides& sides, const Claim& claim);

// nodes.cpp
/// Continues upstream of a node that only one of the two models has.
[[nodiscard]] Found step_down(Sides& sides, const Claim& claim);
/// A reduction that removes its axes is one that keeps them, with a Squeeze downstream of it.
[[nodiscard]] Found examine_reduction(Sides& sides, const Claim& claim);
/// ArgMax (Softmax (x)) is ArgMax (LogSoftmax (x)).
[[nodiscard]] Found examine_likeliest(Sides& sides, const Claim& claim);
/// Compares two nodes of the same operator: attributes, operands, nested graphs.
[[nodiscard]] Look examine_nodes(Sides& sides, const Claim& claim);
/// Handles different operators that nothing accounts for. The point where the models meet again decides which nodes are added or removed.
[[nodiscard]] Look resynchronize(Sides& sides, const Claim& claim);

// branches.cpp
/// A value that an If of one model alone makes is the other model's in each graph that it may enter.
[[nodiscard]] Found examine_branches(Sides& sides, const Claim& claim);
/// A Loop of one model alone that runs once or never, where constants say so.
[[nodiscard]] Found examine_loop(Sides& sides, const Claim& claim);
/// Where (Not (c), p, q) is Where (c, q, p).
[[nodiscard]] Found examine_turned(Sides& sides, const Claim& claim);

// Claims of other kinds.

/// carried_affines.cpp: carries the affines of both sides upstream until linear operators absorb them.
[[nodiscard]] Look carry(Sides& sides, Claim claim);
/// reshapes.cpp: compares the elements in row-major order.
[[nodiscard]] Look examine_flat(Sides& sides, Claim claim);

// Parts of rules, which add to a look.

/// branches.cpp: the value of the graph that an If always takes; empty for other nodes, and where either graph may be taken.
[[nodiscard]] Ref of_taken_branch(Side& side, Ref output);
/// nodes.cpp: compares two nodes of the same operator except for their operands and nested graphs.
void compare_heads(Sides& sides, const Claim& claim, std::string_view ignored, Look& look);
void examine_operands(Sides& sides, const Claim& claim, std::size_t first, Look& look);
/// Turns two nested graphs or functions into claims about their outputs.
void pair_graphs(Sides& sides, const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look);
/// Whether both nodes leave out the same outputs.
[[nodiscard]] bool makes_same_outputs(const Node& a, const Node& b);
/// constants.cpp: compares two constants; `leaf` is the initializer of the second model that holds its constant, if any.
void compare_tensors(Sides& sides, const Claim& claim, Look& look, const Value* leaf);
/// The second model reads the claim's value where the first one reads `wanted`; also tells how far apart two constants are.
[[nodiscard]] Issue issue_of_other_constant(Sides& sides, const Claim& claim, Ref wanted);
/// reshapes.cpp: whether an element of a Reshape's request is the dim that its operand has in this place.
[[nodiscard]] bool requests_own_dim(Side& side, Shapes& shapes, Ref reshaped, std::size_t place);
/// identities.cpp: the operand that a node passes on as it is, if it does.
[[nodiscard]] std::optional<std::size_t> operand_passed_on(Side& side, Shapes& shapes, Ref output);
/// A value that some nodes give back as it is, with those nodes and their other operands.
struct Undone {
  Ref value;  ///< empty: none
  std::vector<const Node*> nodes;
  std::vector<Ref> constants;
};
/// identities.cpp: the value upstream of two nodes the second of which undoes the first, or of a Concat of all parts of one value.
[[nodiscard]] Undone upstream_of_inverse(Side& side, Shapes& shapes, Ref ref);
/// selections.cpp: the value all parts of which a Concat joins in order.
[[nodiscard]] Undone upstream_of_parts(Side& side, Shapes& shapes, Ref joined);
/// identities.cpp: accounts for an operand of one side's node that says what its absence means: an initial state of zeros.
[[nodiscard]] bool is_default_operand(Sides& sides, Ref output, std::size_t index, bool is_first, Look& look);
/// selections.cpp: whether a Slice or Split selects all of its operand.
[[nodiscard]] bool takes_all(Side& side, Shapes& shapes, Ref output);

}  // namespace relayout::proof
