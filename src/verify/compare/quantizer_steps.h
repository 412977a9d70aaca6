#pragma once

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"

namespace relayout {

/// The value that a QuantizeLinear really rounds. Downstream of a DequantizeLinear of the same scale and zero point it changes nothing: the
/// rounding is that of the QuantizeLinear upstream, perhaps with Transposes in between.
struct RoundedValue {
  const Value* value = nullptr;
  std::vector<Dims> orders;  ///< permutations from `value` to the operand of the QuantizeLinear

  /// The value's datum in the order of the operand.
  [[nodiscard]] Datum in_order(const Datum& datum) const;
};
[[nodiscard]] RoundedValue rounded_value(const Node& quantizer);

/// Acquits layers whose only differences are quantized integers on a neighbouring step, where the operand is so close to the boundary of
/// the two steps that upstream rounding within the same layer may carry it across, or where a computes the same from operands rounded to
/// the 16 bits in which b holds them. Counts those elements as flips.
void explain_steps(const LayerTask& task, const FedRuns& runs, Layers& layers);

}  // namespace relayout
