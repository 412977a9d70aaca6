#pragma once

#include <cstdint>
#include <string>

namespace relayout {

/// From here on operators of two operands broadcast them as numpy does; before, by attributes.
inline constexpr int64_t kNumpyOpset = 7;

/// Whether an operator of the default domain is one and the same in two opsets: its latest version is not newer than either.
[[nodiscard]] bool is_same_operator(const std::string& op_type, int64_t opset, int64_t other_opset);

}  // namespace relayout
