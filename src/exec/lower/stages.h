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

/// Nodes that GELU by erf is written out in: x / √2, Erf, + 1, · x, / 2.
inline constexpr std::size_t kErfGateStages = 5;

/// A function whose operand is a value of the program, or a computed constant.
struct Stage : ElementFunction {
  ValueId value = ValueId::none;  ///< the operand, when it is a value
  Tensor constant;                ///< the operand, when it is computed
  /// Without its operand.
  [[nodiscard]] const ElementFunction& alone() const { return *this; }
};

/// y = x · scale + shift per channel, of an inference BatchNormalization with constant parameters.
struct ChannelAffine {
  std::vector<double> mean, scale, bias;  ///< y = (x − mean) · scale + bias
  [[nodiscard]] bool is_finite() const;
  /// Of `count` channels from `first` on.
  [[nodiscard]] ChannelAffine part(std::size_t first, std::size_t count) const;
  /// As functions over dims of this rank, the second of which is that of channels.
  [[nodiscard]] std::vector<Stage> stages(std::size_t rank) const;
};

/// Contents of a constant of at most 65,536 elements as doubles; nothing when the value is absent, not constant, larger, or of a type
/// that is none of f32, f64, i32, i64.
[[nodiscard]] std::optional<std::vector<double>> small_constant(const ValueFacts& facts, ValueId value);

/// Whether there are nodes of this operator that stages_of reads.
[[nodiscard]] bool may_be_stages(std::string_view op_type);
/// The node as elementwise stages over its input value `through` (f32 to f32), or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, const ProgramNode& node, ValueId through);
/// x · f(x) of `gate`, which is f, and of `product` as one function of x = `through`, or nothing.
[[nodiscard]] std::optional<Stage> gated_stage_of(const ValueFacts& facts, const ProgramNode& gate, const ProgramNode& product,
                                                  ValueId through);
/// Nodes of a group that follow each other as stages over `through`, or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, std::span<const ProgramNode* const> nodes,
                                                          ValueId through);
/// A sum with one known number, or a difference, as alpha · x + beta: alpha is 1 or −1, so that it is rounded once as well. Nothing for
/// other stages.
[[nodiscard]] std::optional<Stage> shift_of(const ValueFacts& facts, const Stage& stage);
/// GELU by erf as the library computes it while a convolution or a product writes: for AVX-512 it takes 0.1 to 0.3 ns an element there,
/// where a pass of its own takes 0.9; for AVX2 1 to 1.9 against 1.5 (Xeon of 2023 at 2.3 GHz, oneDNN 3.7.2, 2026-11-25). Of +∞ it makes
/// NaN.
[[nodiscard]] bool is_library_gelu(const Stage& stage);
/// A function of one operand as the library applies it to what it writes.
[[nodiscard]] PostOp function_op(const Stage& stage);
/// The node as a function of its only input that has its type, or nothing.
[[nodiscard]] std::optional<Stage> unary_stage_of(const ValueFacts& facts, const ProgramNode& node);
/// The node as an affine per channel, or nothing.
[[nodiscard]] std::optional<ChannelAffine> channel_affine_of(const ValueFacts& facts, const ProgramNode& node);

}  // namespace relayout::exec
