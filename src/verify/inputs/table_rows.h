#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// Whether rows of this constant can be compared: an initializer or the output of a Constant, of rank 1 and up.
[[nodiscard]] bool is_table(const Value* value);

/// Rows (of dim 0) of two tables that are not byte-equal; empty where types or dims differ, or more than `most` rows do.
/// Errors: io, when a payload cannot be read.
[[nodiscard]] std::vector<int64_t> differing_rows(const Value& a, const Value& b, std::size_t most);

}  // namespace relayout
