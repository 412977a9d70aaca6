#pragma once

#include "relayout/model.h"

namespace relayout {

/// Whether two models are the same bytes: one file, or equal files with equal external data.
[[nodiscard]] bool are_identical(const Model& a, const Model& b);

}  // namespace relayout
