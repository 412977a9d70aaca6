#pragma once

#include <cstdint>
#include <string>

#include "relayout/graph.h"

namespace relayout {

/// Whether a node rounds to a quantized type: its result is an integer that represents a real number.
[[nodiscard]] bool quantizes(const Node& node);

/// Whether a value holds such integers, perhaps rearranged.
[[nodiscard]] bool holds_steps(const Value& value);

/// Constants and results of a model that are quantized.
struct QuantizedWork {
  int bits = 0;             ///< of the narrowest of them; 0: nothing is quantized
  int64_t constants = 0;    ///< weights as integers that represent real numbers
  int64_t activations = 0;  ///< results that nodes round to such integers
  [[nodiscard]] int64_t tensors() const noexcept { return constants + activations; }
};
[[nodiscard]] QuantizedWork quantized_work(const Graph& graph);

/// Whether b quantizes and a does not, or b to fewer bits.
[[nodiscard]] bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept;

/// "B quantizes 34 tensors to int8 (21 weights, 13 activations)"
[[nodiscard]] std::string describe(const QuantizedWork& b);

}  // namespace relayout
