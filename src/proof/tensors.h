#pragma once

#include <optional>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "proof/recompute.h"

namespace relayout::proof {

/// Rows of a tensor that are read at a time: about a MiB, at least one.
[[nodiscard]] int64_t rows_per_piece(const TensorData& data);

/// How two constants of the same type and dims differ, byte by byte; strings too. Read in pieces.
/// Nothing when types or dims differ.
[[nodiscard]] std::optional<Difference> difference(const Constant& a, const Constant& b);

}  // namespace relayout::proof
