#pragma once

#include <cstdint>
#include <vector>

namespace relayout {

/// The numbers that the 16 codes of MatMulBnb4 represent: FP4 (`quant_type` 0) or NF4 (1). Empty for any other type.
[[nodiscard]] std::vector<float> bnb4_codes(int64_t quant_type);

}  // namespace relayout
