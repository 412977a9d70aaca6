#pragma once

#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/tensor.h"

namespace relayout {

/// The tensors of a datum from left to right, as views.
[[nodiscard]] std::vector<Tensor> leaves(const Datum& datum);
/// Kind, types and dims, e.g. "f32[2, 3]", "sequence of 2: f32[1], f32[4]", "nothing" for an empty optional.
[[nodiscard]] std::string describe(const Datum& datum);
/// The first difference in kind, length, type, rank or dims ("f32[2], was f32[3]"); empty: none.
[[nodiscard]] std::string structural_difference(const Datum& a, const Datum& b);
/// Same structure, same bytes.
[[nodiscard]] bool bit_equal(const Datum& a, const Datum& b);

}  // namespace relayout
