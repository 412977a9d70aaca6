#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "passes/affine.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace relayout::passes {

/// Whether the node hands its first input on unchanged: Identity, Dropout in inference.
[[nodiscard]] bool passes_through(const Node& node, PassContext& context);

/// Whether an affine may pass the node at all: one of those listed below. Then it is of its first operand.
[[nodiscard]] bool may_carry(const Node& node);

/// Affines of the node's first output become affines of its first input that have the same effect (up), or the other way round (down).
/// A refusal says why they do not commute with the node and leaves them as they were or half carried.
///
///     Identity, Dropout in inference                     all
///     Transpose, Reshape, Flatten, Squeeze, Unsqueeze    where the channels stay one whole axis; down also where they become the slow
///                                                        part of the last axis
///     Pad                                                where what it adds is what the affine makes of it
///     AveragePool, GlobalAveragePool                     weights of every average sum to 1, or no shift
///
/// A value that is the same for all elements passes every operator that moves them.
[[nodiscard]] std::optional<Skip> carry_up(const Node& node, std::vector<AffineNode>& affines, PassContext& context);
[[nodiscard]] std::optional<Skip> carry_down(const Node& node, std::vector<AffineNode>& affines, PassContext& context);

/// Affines of a Concat's output as affines of each of its operands, or why they cannot be cut.
[[nodiscard]] std::variant<std::vector<std::vector<AffineNode>>, Skip> cut(const Node& concat, const std::vector<AffineNode>& affines,
                                                                           PassContext& context);

/// Why no affine goes through this operator at all.
[[nodiscard]] Reason reason_between(const Node& node);

}  // namespace relayout::passes
