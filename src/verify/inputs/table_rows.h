#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// Whether rows of this constant can be compared: numbers of 8 bits or more, of rank 1 and up, in an initializer or the output of a
/// Constant.
[[nodiscard]] bool is_table(const Value* value);

/// Rows (of dim 0) of two tables that are not byte-equal. Empty if types or dims differ, more than `most` rows do, or a row exceeds 1 MiB.
/// Errors: io, when a payload cannot be read.
[[nodiscard]] std::vector<int64_t> differing_rows(const Value& a, const Value& b, std::size_t most);

}  // namespace relayout
