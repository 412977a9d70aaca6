// Declares what the equation of an Einsum says.

#pragma once

#include <string>
#include <vector>

#include "derive/row.h"

namespace relayout::derive {

/// The letters of the axes.
struct EinsumTerms {
  std::vector<std::string> operands;
  std::string result;
};

/// Of an equation without an ellipsis.
[[nodiscard]] EinsumTerms einsum_terms(std::string equation);
/// Refuses an ellipsis.
[[nodiscard]] EinsumTerms einsum_terms(const Row& row);

}  // namespace relayout::derive
