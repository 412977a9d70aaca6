#pragma once

#include <optional>
#include <string>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "proof/recompute.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Number of rows of a tensor per read: about 1 MiB, at least one row.
[[nodiscard]] int64_t rows_per_piece(const TensorData& data);

/// The byte-by-byte difference of two constants of the same type and dims, strings included; read in pieces. Empty if types or dims differ.
[[nodiscard]] std::optional<Difference> difference(const Constant& a, const Constant& b);

/// The difference of a 16-bit constant and a wider one beyond one ULP of the narrow type. Elements do not count if they round or flush to
/// zero or to a smallest number, or are beyond the range of the narrow type, which every converter replaces in its own way. Empty for other
/// types, and if dims differ.
[[nodiscard]] std::optional<Difference> difference_beyond_rounding(const Constant& a, const Constant& b);

/// "is f16[4, 3], was f32[4, 3]"
[[nodiscard]] std::string forms_text(const Constant& a, const Constant& b);
/// Records the types if they differ.
void name_types(const Constant& a, const Constant& b, Unexplained& issue);

}  // namespace relayout::proof
