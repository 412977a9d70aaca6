#pragma once

#include <string>

#include "ops/operands.h"

namespace relayout {

/// A window sliding over the spatial dims, for Conv, ConvTranspose and the pools. One entry per spatial dim.
struct Window {
  Dims kernel, strides, dilations;
  Dims before, after;  ///< pads; may be negative
  /// Elements that the dilated kernel spans in dim `i`.
  [[nodiscard]] int64_t extent(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  [[nodiscard]] int64_t taps() const;
};

/// Attributes kernel_shape (`kernel` when absent), strides, dilations, pads, auto_pad, checked against the rank. Every number is below
/// 2^31, so that results computed from them fit. With auto_pad SAME_* pads follow from `input`; VALID has none.
[[nodiscard]] Window window_of(const OpCall& call, const Dims& input, const Dims& kernel);
/// Output sizes. `ceil_mode` rounds up, but drops a last window that would begin beyond input and left pad (ONNX 1.16, as PyTorch).
[[nodiscard]] Dims window_outputs(const OpCall& call, const Window& window, const Dims& input, bool ceil_mode);
/// Sets the pads of a transposed convolution and returns its output sizes. They follow from output_shape, then from auto_pad = SAME_*,
/// whose output is input · stride, or the full size where that is less; else from the pads and output_padding. Padding that is computed has
/// its odd element at the end with SAME_UPPER, else at the begin (ONNX specification). In each dim before + output + after is stride ·
/// (input − 1) + extent; `after` is negative where the end of the output is empty.
[[nodiscard]] Dims set_transposed_pads(const OpCall& call, Window& window, const Dims& input);
/// The spatial part of dims [N, C, …]; the rank must be at least 3.
[[nodiscard]] Dims spatial_dims(const OpCall& call, const Dims& dims);
/// The spatial part of dims or strides [N, C, …] of a rank that is checked already.
[[nodiscard]] Dims tail(const Dims& dims);
/// An attribute with one entry per spatial dim, or `otherwise` for each; entries are within [low, 2^31).
[[nodiscard]] Dims window_attribute(const OpCall& call, std::string_view name, std::size_t rank, int64_t otherwise, int64_t low);

struct Span {
  int64_t begin = 0, end = 0;
};
/// The i in [0, count) with 0 ≤ first + i · step < limit; step > 0.
[[nodiscard]] Span steps_within(int64_t first, int64_t step, int64_t limit, int64_t count);

/// Calls visit(index) for every index within dims, the last dim varying fastest.
template <class Visit>
void for_each_index(const Dims& dims, const Visit& visit) {
  for (const int64_t dim : dims) {
    if (dim == 0) return;
  }
  Dims index(dims.size(), 0);
  while (true) {
    visit(static_cast<const Dims&>(index));
    std::size_t axis = dims.size();
    while (axis-- > 0) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace relayout
