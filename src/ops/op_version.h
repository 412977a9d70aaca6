#pragma once

#include <cstdint>
#include <string>

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

}  // namespace relayout
