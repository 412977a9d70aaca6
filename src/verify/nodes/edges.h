#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether a node searches for the largest or smallest of several numbers, and says which of equal ones it takes.
[[nodiscard]] bool is_search(const Node& node);

/// Whether a node may treat NaN or infinities apart from all other numbers: it tests for them, limits or compares numbers, or chooses
/// by such a test or comparison of what it hands on.
[[nodiscard]] bool may_treat_apart(const Node& node);

/// Whether a node is one of those that do so on purpose: a search, a test for NaN or infinities, a choice by such a test or comparison of
/// what it hands on.
[[nodiscard]] bool treats_apart(const Node& node);

/// Whether a node compares what tests for NaN or infinities found: any of a value's elements, all of them, or how many.
[[nodiscard]] bool follows_test(const Node& node);

}  // namespace relayout
