#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether a node searches for the largest or smallest of several numbers, and says which of equal ones it takes.
[[nodiscard]] bool is_search(const Node& node);

/// Whether a node may treat NaN or infinities apart from all other numbers: it tests for them, limits or compares numbers, or chooses
/// by such a test or comparison of what it hands on.
[[nodiscard]] bool may_treat_apart(const Node& node);

}  // namespace relayout
