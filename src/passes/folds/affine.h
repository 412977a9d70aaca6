#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/node.h"
#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// y = scale · (x − center) + shift along one axis of the data: each vector has one number per channel, or one for all.
struct Affine {
  std::vector<double> scale = {1}, center = {0}, shift = {0};
  [[nodiscard]] int64_t length() const;  ///< length of the longest vector
  /// The numbers of channel c.
  [[nodiscard]] double scale_at(std::size_t c) const { return scale[scale.size() == 1 ? 0 : c]; }
  [[nodiscard]] double center_at(std::size_t c) const { return center[center.size() == 1 ? 0 : c]; }
  [[nodiscard]] double shift_at(std::size_t c) const { return shift[shift.size() == 1 ? 0 : c]; }
  /// The new value of x in channel c. Evaluated as written: a · (B − μ) + β survives large means, a · B + (β − a · μ) does not.
  [[nodiscard]] double apply(std::size_t c, double x) const { return scale_at(c) * (x - center_at(c)) + shift_at(c); }
  /// Whether zero is mapped to another number in some channel.
  [[nodiscard]] bool shifts() const;
};

/// A node that is an affine function of one operand.
struct AffineNode {
  const Node* node = nullptr;
  std::size_t data = 0;  ///< index of that operand
  std::shared_ptr<const Affine> affine;
  std::optional<Axis> axis;  ///< of the data; none: the same for all elements
  /// Whether the data's dim along the axis is known to equal the length of the affine. If it is not, a constant could make the data grow
  /// from 1.
  bool is_sized = true;
  /// Each number applies to a run of neighbours along the axis: channels and the dims after them have become one axis.
  bool is_merged = false;
  Reason misplaced = Reason::channel_axis_moved;  ///< reported when the axis turns out not to be the channels'
};

/// Operators that may be affine: BatchNormalization, Add, Sub, Mul, Div, Neg, and Sum of two.
[[nodiscard]] bool is_affine_operator(const Node& node);
/// Reads a node as an affine. BatchNormalization of any version in inference has scale = γ / √(σ² + ε), center = μ, shift = β along axis 1.
/// The others need a constant operand that is one number, or that varies along one axis of the data and does not make the data grow (which
/// would change dims). A refusal says why. Not applicable: not an affine at all (integers, two constants, two run-time operands).
/// Error{invalid} for parameters of different lengths. Results are cached while a pass runs.
[[nodiscard]] const Match<AffineNode>& read_affine(const Node& node, PassContext& context);

/// Why a BatchNormalization uses batch statistics: versions 1 and 6 state it by is_test, 7 and 9 by the number of outputs, 14 and newer by
/// training_mode or the number of outputs. Nothing in inference.
[[nodiscard]] std::optional<Skip> why_trains(const Node& norm, const Attributes& attributes);
/// Whether a BatchNormalization of a function uses batch statistics in this call, which may give attributes.
[[nodiscard]] bool trains_in_call(const Node& norm, const Node& call);
/// Whether a Dropout passes its operand on.
[[nodiscard]] bool keeps_all(const Node& dropout, Constants& constants);

/// One of these affines, in the order in which they are applied, that adds a guard which a bias would round away, or nullptr. A guard is
/// the constant of an Add or Sub that keeps the operand of a Log off the end of its domain (or that of Sqrt, Reciprocal, Pow, a divisor …).
/// Fewer than half of its bits survive in an element of `bias`, the operator's bias after all affines, in full precision. A shift that
/// comes later in the row rounds the guard in the model too.
[[nodiscard]] const AffineNode* lost_guard(const std::vector<AffineNode>& affines, const std::vector<double>& bias, std::size_t channels,
                                           DataType type, PassContext& context);

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
