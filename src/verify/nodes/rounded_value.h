#pragma once

#include <vector>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"

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

}  // namespace relayout
