#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace relayout {

/// Why a candidate was left alone: a closed set with one text each (to_string and text).
enum class Reason : uint8_t {
  // In the order of precedence: of several that apply, the first is reported.
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
  non_finite,
  overflow,
  underflow,
  quantized,
  rank_unknown,
  too_large,
  // Layout.
  already_channels_last,
  both_layouts,  ///< one input channel per group, or all kernel dims 1
  already_contiguous,
  rank_not_converted,  ///< 1-D without --include-1d
  other_order,         ///< comes through another Transpose (HWIO)
  sparse,
  not_an_image,           ///< fewer dims than batch, channels and one more
  type_not_transposable,  ///< Transpose of this opset does not take the type
  typed_data,             ///< not in raw_data: undo could not restore the field
  shared_use,             ///< other readers of the stored tensor need it as it is
  // Precision.
  fragile,           ///< 16 bits lose too much here; the detail says what
  type_not_allowed,  ///< by the operator at this opset
  type_unknown,      ///< what the operator does with the type is not known
  shared_types,      ///< with the graphs inside
  no_gain,           ///< all around it stays in 32 bits
  no_source_type,    ///< the model has nothing of the type that is to change
  count_,            ///< number of reasons
};

/// The code, as in JSON: "not-constant".
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;
/// One line for people.
[[nodiscard]] std::string_view text(Reason reason) noexcept;

enum class Verdict : uint8_t { done, skipped, not_applicable };
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

/// The outcome of one pass for one candidate.
struct Finding {
  std::string pass;
  std::string op_type;  ///< of the candidate: BatchNormalization, Conv …
  std::string node;     ///< name, or name of the first output
  Verdict verdict = Verdict::done;
  Reason reason = Reason::count_;  ///< with `skipped`
  std::string detail = {};         ///< what is in the way, by name
};

using Findings = std::deque<Finding>;

}  // namespace relayout
