#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "passes/affine.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace relayout::passes {

/// Whether the node passes its first input on unchanged: Identity, Dropout in inference.
[[nodiscard]] bool passes_through(const Node& node, PassContext& context);

/// Whether the node is one of those listed below other than Identity and Dropout. An affine may pass it, to or from its first operand.
[[nodiscard]] bool may_carry(const Node& node);

/// Turns affines of the node's first output into affines of its first input with the same effect (up), or the reverse (down). A refusal
/// says why they do not commute with the node; it leaves them unchanged or half carried.
///
///     Identity, Dropout in inference                     all
///     Transpose, Reshape, Flatten, Squeeze, Unsqueeze    where the channels stay one whole axis; down also where they become the slow
///                                                        part of the last axis
///     Pad                                                where channels are not padded, by a number that the affine does not change
///     AveragePool, GlobalAveragePool                     where the weights of every average sum to 1, or without a shift
///
/// An affine that is the same for all elements passes every operator that moves elements.
[[nodiscard]] std::optional<Skip> carry_up(const Node& node, std::vector<AffineNode>& affines, PassContext& context);
[[nodiscard]] std::optional<Skip> carry_down(const Node& node, std::vector<AffineNode>& affines, PassContext& context);

/// Affines of a Concat's output, cut into affines of each of its operands, or why they cannot be cut.
[[nodiscard]] std::variant<std::vector<std::vector<AffineNode>>, Skip> cut(const Node& concat, const std::vector<AffineNode>& affines,
                                                                           PassContext& context);

/// Why no affine passes this operator at all.
[[nodiscard]] Reason reason_between(const Node& node);

}  // namespace relayout::passes
