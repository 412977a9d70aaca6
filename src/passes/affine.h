#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ops/axis.h"
#include "passes/match.h"
#include "passes/pass.h"

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

}  // namespace relayout::passes
