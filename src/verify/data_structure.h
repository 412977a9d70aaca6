#pragma once

#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/tensor.h"

namespace relayout {

/// The tensors of a datum from left to right; views, nothing is copied.
[[nodiscard]] std::vector<Tensor> leaves(const Datum& datum);
/// Kind, types and dims, e.g. "f32[2, 3]", "sequence of 2: f32[1], f32[4]", "nothing" for an empty optional.
[[nodiscard]] std::string describe(const Datum& datum);
/// The difference in kind, length, type, rank or dims ("sequence of 2, was of 3"); empty when nothing does.
[[nodiscard]] std::string structural_difference(const Datum& a, const Datum& b);
/// Same structure, same bytes.
[[nodiscard]] bool bit_equal(const Datum& a, const Datum& b);

}  // namespace relayout
