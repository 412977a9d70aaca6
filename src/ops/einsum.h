#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// The equation of an Einsum without its spaces: ONNX operator Einsum-12.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::optional<std::string> result;  ///< absent: not written out
  /// Whether a term has "...".
  [[nodiscard]] bool has_ellipsis() const;
  /// The letters of the result: where it is not written out, those that occur once, sorted. Of an equation without an ellipsis.
  [[nodiscard]] std::string letters_of_result() const;
};

[[nodiscard]] EinsumEquation read_einsum(std::string equation);

}  // namespace relayout
