#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace relayout {

/// Whether a version of an operator of the default domain (`since_version` of its schema) computes what the version before it computes, for
/// every node that is valid in both and writes none of attributes_changed().
[[nodiscard]] bool is_unchanged(std::string_view op_type, int version);
/// Attributes whose meaning such a version changed all the same.
[[nodiscard]] std::vector<std::string_view> attributes_changed(std::string_view op_type, int version);

/// An argument that older versions take as an attribute and newer ones as an operand: axes of reductions, Squeeze, Unsqueeze, sizes of
/// Split.
struct MovedArgument {
  std::string_view attribute;
  std::size_t input = 0;
  int version = 0;  ///< from which on it is an operand
};
/// nullptr: the operator has none.
[[nodiscard]] const MovedArgument* moved_argument(std::string_view op_type);

}  // namespace relayout
