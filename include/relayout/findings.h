#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace relayout {

/// Why a candidate was left unchanged: a closed set with one code and one text each (to_string() and text()).
enum class Reason : uint8_t {
  // In order of precedence: the first reason that applies is reported.
  excluded,
  not_constant,
  overridable,
  training_mode,
  training_info,
  per_activation,
  operator_output_shared,
  operator_output_visible,
  operator_output_captured,
  affine_output_shared,
  other_scope,
  no_linear_neighbour,
  nonlinear_between,
  unknown_op_between,
  channel_axis_moved,
  pads_with_shift,
  concat_branch,
  residual,
  not_per_channel,
  broadcast_grows,
  not_affine,
  guard_lost,  ///< the bias would round away a constant that keeps a Log, Sqrt or divisor off the end of its domain
  non_finite,
  overflow,
  underflow,
  quantized,
  rank_unknown,
  too_large,
  // Graphs inside nodes.
  runs_again,    ///< or as often as data say
  not_movable,   ///< in a function, of IR before 4, or with constants, names or types that cannot move
  dims_unknown,  ///< of an empty result
  file_grows,
  // Layout.
  already_channels_last,
  both_layouts,  ///< one input channel per group, or all kernel dims 1
  already_contiguous,
  rank_not_converted,  ///< 1-D without --include-1d
  other_order,         ///< read through a Transpose of a different order (HWIO)
  sparse,
  not_an_image,           ///< fewer than three dims (batch, channels, one spatial)
  type_not_transposable,  ///< Transpose of this opset does not support the type
  typed_data,             ///< not stored in raw_data: undo could not restore the field
  shared_use,             ///< other consumers of the stored tensor need it unchanged
  // Precision.
  fragile,           ///< 16 bits lose too much precision here; see the detail
  type_not_allowed,  ///< the operator at this opset does not allow the type
  no_kernel,         ///< ONNX Runtime's CPU does not run the operator in the type
  type_unknown,      ///< the operator's handling of the type is not known
  shared_types,      ///< types are shared with nested graphs
  no_gain,           ///< all adjacent nodes stay in 32 bits
  wide_operand,      ///< another operand of the node is computed in int64
  no_source_type,    ///< the model has no tensor of the type to be changed
  count_,            ///< number of reasons
};

/// The code as in JSON: "not-constant".
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;
/// A one-line explanation for users.
[[nodiscard]] std::string_view text(Reason reason) noexcept;

enum class Verdict : uint8_t { done, skipped, not_applicable };
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

/// The outcome of one pass for one candidate.
struct Finding {
  std::string pass;
  std::string op_type;  ///< operator of the candidate: BatchNormalization, Conv …
  std::string node;     ///< name, or name of the first output
  Verdict verdict = Verdict::done;
  Reason reason = Reason::count_;  ///< with `skipped`
  std::string detail = {};         ///< the obstacle, by name
};

using Findings = std::deque<Finding>;

}  // namespace relayout
