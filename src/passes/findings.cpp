// Words each reason for a refusal and each verdict, as reports and JSON print them.

#include "relayout/findings.h"

#include <array>
#include <cstddef>

namespace relayout {
namespace {

struct ReasonText {
  Reason reason;
  std::string_view code, text;
};

using enum Reason;

/// In the order of the enum.
constexpr auto kReasons = std::to_array<ReasonText>({
    {excluded, "excluded", "left out by --only or --exclude"},
    {not_constant, "not-constant", "a weight, bias or parameter is computed at run time"},
    {overridable, "overridable", "an initializer is a graph input too, which a caller may replace (--freeze folds)"},
    {training_mode, "training-mode", "batch statistics are used, or Dropout drops"},
    {training_info, "training-info", "training_info updates the initializer"},
    {per_activation, "per-activation", "spatial = 0: one factor per position"},
    {operator_output_shared, "operator-output-shared", "the operator's output has another reader"},
    {operator_output_visible, "operator-output-visible", "the operator's output is a graph output"},
    {operator_output_captured, "operator-output-captured", "the operator's output is used in a subgraph"},
    {affine_output_shared, "affine-output-shared", "another reader of the affine's output cannot take it up"},
    {other_scope, "other-scope", "operator and affine live in different graphs"},
    {no_linear_neighbour, "no-linear-neighbour", "no Conv, ConvTranspose, Gemm or MatMul on either side"},
    {nonlinear_between, "nonlinear-between", "an operator between does not commute with the affine"},
    {unknown_op_between, "unknown-op-between", "an operator of an unknown domain"},
    {channel_axis_moved, "channel-axis-moved", "the channel is not axis 1 any more, or not one whole axis"},
    {pads_with_shift, "pads-with-shift", "zeros of a padding would have to be shifted"},
    {concat_branch, "concat-branch", "a branch of Concat cannot take up its slice"},
    {residual, "residual", "the other operand of Add is computed at run time"},
    {not_per_channel, "not-per-channel", "the constant varies along another axis"},
    {broadcast_grows, "broadcast-grows", "the constant enlarges the output"},
    {not_affine, "not-affine", "not an affine function of its operand"},
    {guard_lost, "guard-lost", "the bias would round away the constant that keeps a Log, Sqrt or divisor off 0"},
    {non_finite, "non-finite", "Inf or NaN would be written"},
    {overflow, "overflow", "numbers would leave the range of their type"},
    {underflow, "underflow", "all weights of a channel would become subnormal or zero"},
    {quantized, "quantized", "quantized already: convert the float model first, then quantize"},
    {rank_unknown, "rank-unknown", "the rank tells which axis holds the channels, and it is not known"},
    {too_large, "too-large", "evaluating the constant is beyond the size budget"},
    {runs_again, "runs-again", "a loop runs more than once, or as often as data say"},
    {not_movable, "not-movable", "what is in the graph cannot be moved out of it"},
    {dims_unknown, "dims-unknown", "a loop that never runs gives an empty result, whose dims nothing tells"},
    {file_grows, "file-grows", "the file would become larger"},
    {already_channels_last, "already-channels-last", "already channels-last"},
    {both_layouts, "both-layouts", "the same in both layouts: one input channel per group, or all kernel dims 1"},
    {already_contiguous, "already-contiguous", "stored contiguous"},
    {rank_not_converted, "rank-not-converted", "one kernel dim (--include-1d converts it)"},
    {other_order, "other-order", "comes through a Transpose of another order"},
    {sparse, "sparse", "a sparse tensor"},
    {not_an_image, "not-an-image", "an image has three dims at least"},
    {type_not_transposable, "type-not-transposable", "Transpose of this opset does not take the type"},
    {typed_data, "typed-data", "stored in a typed field wider than its elements"},
    {shared_use, "shared-use", "other readers need the stored order"},
    {fragile, "fragile", "16 bits lose too much"},
    {type_not_allowed, "type-not-allowed", "the operator does not take the type at this opset"},
    {no_kernel, "no-kernel", "ONNX Runtime's CPU does not run the operator in the type"},
    {type_unknown, "type-unknown", "the use that the operator makes of the type is not known"},
    {shared_types, "shared-types", "the graphs inside share the types of its operands"},
    {no_gain, "no-gain", "its operands or results stay in 32 bits: a Cast would save nothing"},
    {wide_operand, "wide-operand", "another operand is computed in 64 bits"},
    {no_source_type, "no-source-type", "nothing in the model is of a type that is to change"},
});

constexpr bool complete() {
  if (kReasons.size() != static_cast<std::size_t>(count_)) return false;
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  }
  return true;
}
static_assert(complete(), "one text per reason, in the order of the enum");

const ReasonText* entry(Reason reason) noexcept {
  return reason < count_ ? &kReasons[static_cast<std::size_t>(reason)] : nullptr;
}

}  // namespace

std::string_view to_string(Reason reason) noexcept {
  const ReasonText* const found = entry(reason);
  return found != nullptr ? found->code : std::string_view{};
}

std::string_view text(Reason reason) noexcept {
  const ReasonText* const found = entry(reason);
  return found != nullptr ? found->text : std::string_view{};
}

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::done:
      return "done";
    case Verdict::skipped:
      return "skipped";
    case Verdict::not_applicable:
      return "not-applicable";
  }
  return {};
}

}  // namespace relayout
