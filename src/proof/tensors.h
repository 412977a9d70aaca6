#pragma once

#include <optional>
#include <string>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "proof/recompute.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Rows of a tensor that are read at a time: about a MiB, at least one.
[[nodiscard]] int64_t rows_per_piece(const TensorData& data);

/// How two constants of the same type and dims differ, byte by byte; strings too. Read in pieces.
/// Nothing when types or dims differ.
[[nodiscard]] std::optional<Difference> difference(const Constant& a, const Constant& b);

/// How far elements of b, in 16 bits, are from those of a, in more bits, beyond one ULP of theirs: elements that round or flush to zero or
/// to a smallest number do not count, nor do those beyond the range of b's type, which every converter replaces in its own way. Nothing
/// for other types, and when dims differ.
[[nodiscard]] std::optional<Difference> difference_beyond_rounding(const Constant& a, const Constant& b);

/// "is f16[4, 3], was f32[4, 3]"
[[nodiscard]] std::string forms_text(const Constant& a, const Constant& b);
/// Notes the types where they are not the same.
void name_types(const Constant& a, const Constant& b, Unexplained& issue);

}  // namespace relayout::proof
