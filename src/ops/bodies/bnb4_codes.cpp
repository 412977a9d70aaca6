// The numbers that the 4-bit codes FP4 and NF4 of bitsandbytes represent, for MatMulBnb4
// (onnxruntime/contrib_ops/cpu/quantization/blockwise_quant_block_bnb4.h).
#include "ops/bodies/bnb4_codes.h"

#include <cstdint>
#include <vector>

namespace relayout {

std::vector<float> bnb4_codes(int64_t quant_type) {
  if (quant_type == 0) {
    const std::vector<float> positive = {0, 5.208333333e-03F, 2.0F / 3, 1, 1.0F / 3, 0.5F, 1.0F / 6, 0.25F};
    std::vector<float> out = positive;
    for (const float value : positive) out.push_back(-value);
    return out;
  }
  if (quant_type != 1) return {};
  return {-1.0F,
          -0.6961928009986877F,
          -0.5250730514526367F,
          -0.39491748809814453F,
          -0.28444138169288635F,
          -0.18477343022823334F,
          -0.09105003625154495F,
          0.0F,
          0.07958029955625534F,
          0.16093020141124725F,
          0.24611230194568634F,
          0.33791524171829224F,
          0.44070982933044434F,
          0.5626170039176941F,
          0.7229568362236023F,
          1.0F};
}

}  // namespace relayout
