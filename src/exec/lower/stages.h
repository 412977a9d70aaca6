#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "exec/kernels/elementwise_kernel.h"
#include "exec/lower/value_facts.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// Number of nodes in which GELU by erf is written out: x / √2, Erf, + 1, · x, / 2.
inline constexpr std::size_t kErfGateStages = 5;

/// A function whose operand is a value of the program, or a computed constant.
struct Stage : ElementFunction {
  ValueId value = ValueId::none;  ///< the operand, when it is a value
  Tensor constant;                ///< the operand, when it is computed
  /// The function without its operand.
  [[nodiscard]] const ElementFunction& alone() const { return *this; }
};

/// y = x · scale + shift per channel, of an inference BatchNormalization with constant parameters.
struct ChannelAffine {
  std::vector<double> mean, scale, bias;  ///< y = (x − mean) · scale + bias
  [[nodiscard]] bool is_finite() const;
  /// The affine of `count` channels from `first` on.
  [[nodiscard]] ChannelAffine part(std::size_t first, std::size_t count) const;
  /// The affine as functions over dims of this rank, of which the second is that of channels.
  [[nodiscard]] std::vector<Stage> stages(std::size_t rank) const;
};

/// Contents of a constant of at most 65,536 elements as doubles; nothing when the value is absent, not constant, larger, or of a type other
/// than f32, f64, i32, i64.
[[nodiscard]] std::optional<std::vector<double>> small_constant(const ValueFacts& facts, ValueId value);

/// Whether stages_of reads some nodes of this operator.
[[nodiscard]] bool may_be_stages(std::string_view op_type);
/// The node as elementwise stages over its input value `through` (f32 to f32), or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, const ProgramNode& node, ValueId through);
/// x · f(x) as one function of x = `through`, from `gate`, which is f, and `product`; or nothing.
[[nodiscard]] std::optional<Stage> gated_stage_of(const ValueFacts& facts, const ProgramNode& gate, const ProgramNode& product,
                                                  ValueId through);
/// Consecutive nodes of a group as stages over `through`, or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, std::span<const ProgramNode* const> nodes,
                                                          ValueId through);
/// A sum or difference with one known number as alpha · x + beta: alpha is 1 or −1, so that it is rounded once as well. Nothing for other
/// stages.
[[nodiscard]] std::optional<Stage> shift_of(const ValueFacts& facts, const Stage& stage);
/// Adds one number per channel, dim 1 of `rank` dims.
[[nodiscard]] Stage add_per_channel(const std::vector<double>& values, std::size_t rank);
/// The node as a function of its first input, or nothing. Types are not checked.
[[nodiscard]] std::optional<Stage> unary_stage_of(const ValueFacts& facts, const ProgramNode& node);
/// The node as an affine per channel, or nothing.
[[nodiscard]] std::optional<ChannelAffine> channel_affine_of(const ValueFacts& facts, const ProgramNode& node);

}  // namespace relayout::exec
