#pragma once

#include <cstdint>
#include <string>

#include "relayout/graph.h"

namespace relayout {

/// Constants and results of a model that are quantized.
struct QuantizedWork {
  int bits = 0;             ///< of the narrowest of them; 0: nothing is quantized
  int64_t constants = 0;    ///< weights that stand for real numbers
  int64_t activations = 0;  ///< results that nodes round to such numbers
  [[nodiscard]] int64_t tensors() const noexcept { return constants + activations; }
};
[[nodiscard]] QuantizedWork quantized_work(const Graph& graph);

/// Whether b quantizes what a does not, or to fewer bits.
[[nodiscard]] bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept;

/// "B quantizes 34 tensors to int8 (21 weights, 13 activations)"
[[nodiscard]] std::string describe(const QuantizedWork& b);

}  // namespace relayout
