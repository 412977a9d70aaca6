#pragma once

#include <cstdint>
#include <string>

namespace relayout {

/// First opset in which operators of two operands broadcast as numpy does; before, attributes control it.
inline constexpr int64_t kNumpyOpset = 7;

/// Whether an operator of the default domain is the same in two opsets: its latest version is not newer than either.
[[nodiscard]] bool is_same_operator(const std::string& op_type, int64_t opset, int64_t other_opset);

}  // namespace relayout
