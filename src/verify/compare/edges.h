#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether a node searches for the largest or smallest of several numbers, and defines which of equal ones it takes.
[[nodiscard]] bool is_search(const Node& node);

/// Whether a node may treat NaN or infinities apart from all other numbers: it tests for them, limits or compares numbers, or chooses by
/// such a test or comparison of the values that it passes on.
[[nodiscard]] bool may_treat_apart(const Node& node);

/// Whether a node treats equal numbers, NaN or infinities apart on purpose: a search, a test, a choice by a test or by a comparison of the
/// values that it passes on.
[[nodiscard]] bool treats_apart(const Node& node);

/// Whether only numbers of one sign may show what a node does: the padding at a border is the largest number of a window, or the largest
/// number of every row in front of a limit is on one side of it.
[[nodiscard]] bool depends_on_sign(const Node& node);

/// Whether a node reads the result of a test for NaN or infinities, perhaps reduced: any of a value's elements, all, or their number.
[[nodiscard]] bool follows_test(const Node& node);

}  // namespace relayout
