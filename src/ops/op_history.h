#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// First opset in which operators of two operands broadcast as numpy does; before, attributes control it.
inline constexpr int64_t kNumpyOpset = 7;
/// First opset in which Cast takes its type as a number; before, as a name.
inline constexpr int64_t kCastByNumber = 6;
/// First opset in which Softmax, LogSoftmax and Hardmax run along one axis; before, the dims from `axis` on count as one.
inline constexpr int64_t kOneAxisOpset = 13;
/// Attribute `axis` of those three.
[[nodiscard]] int64_t softmax_axis(const Node& node);

/// Whether an operator of the default domain is the same in two opsets: its latest version is not newer than either.
[[nodiscard]] bool is_same_operator(const std::string& op_type, int64_t opset, int64_t other_opset);

/// Whether a version of an operator of the default domain (`since_version` of its schema) computes the same as the version before it, for
/// every node that is valid in both and writes none of attributes_changed().
[[nodiscard]] bool is_unchanged(std::string_view op_type, int version);
/// Attributes whose meaning changed in a version that is otherwise unchanged.
[[nodiscard]] std::vector<std::string_view> attributes_changed(std::string_view op_type, int version);

/// An argument that is an attribute in older versions and an operand in newer ones: axes of reductions, Squeeze, Unsqueeze, sizes of Split.
struct MovedArgument {
  std::string_view attribute;
  std::size_t input = 0;
  int version = 0;  ///< the first in which it is an operand
};
/// nullptr: the operator has none.
[[nodiscard]] const MovedArgument* moved_argument(std::string_view op_type);
/// Whether the operator has such an argument, and reads it from an operand in this opset.
[[nodiscard]] bool argument_is_operand(std::string_view op_type, int64_t opset);

}  // namespace relayout
