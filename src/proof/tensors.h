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

/// "is f16[4, 3], was f32[4, 3]"
[[nodiscard]] std::string forms_text(const Constant& a, const Constant& b);
/// Notes the types where they are not the same.
void name_types(const Constant& a, const Constant& b, Unexplained& issue);

}  // namespace relayout::proof
