#pragma once

#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// Numbers of an input at which its model decides: the constants that it is compared with, and numbers on both sides of them; those that
/// become 0 or 1 as conditions; first and last position of what it indexes; the divisors of its remainders. Each is carried back through
/// arithmetic with constants, through branches, loops and functions. Constants that nodes are equal to come first.
[[nodiscard]] std::vector<double> vocabulary_of(const Value& input);

}  // namespace relayout
