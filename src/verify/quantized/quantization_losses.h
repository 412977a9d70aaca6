#pragma once

#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/run/reference.h"

namespace relayout {

/// Losses of the nodes of a quantized b over the first samples. Nothing of the verdict depends on them.
[[nodiscard]] std::vector<QuantizationLoss> measure_quantization(const Pair& pair, const Reference& reference);

}  // namespace relayout
