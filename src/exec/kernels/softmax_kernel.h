#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/kernels/kernel.h"
#include "ops/kernels/window.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// LogSoftmax of `lines` lines of `length` f32 each, dense; operand 0 is the source, 1 the destination. The sum and the operations after it
/// are in double.
[[nodiscard]] std::unique_ptr<Kernel> make_log_softmax_kernel(int64_t length, int64_t lines, Team team);

/// Lines of at most this length take the library longer to begin than to compute.
inline constexpr int64_t kShortSoftmax = 16;
/// Softmax of `lines` lines of `length` ≤ kShortSoftmax f32 each, dense, many side by side. Operands as for LogSoftmax.
[[nodiscard]] std::unique_ptr<Kernel> make_short_softmax_kernel(int64_t length, int64_t lines, Team team);

/// Softmax of f32 along `length` elements `stride` > 1 apart, dense, columns side by side. Operands as for LogSoftmax.
[[nodiscard]] std::unique_ptr<Kernel> make_column_softmax_kernel(int64_t length, int64_t stride, int64_t elements, Team team);

/// Softmax of `lines` lines of `length` f32 each, dense. `softmax` is the library's, which takes NaN for +∞ and leaves the rest of such a
/// line 0: here all of it is NaN. Operands as for LogSoftmax, not in place.
[[nodiscard]] std::unique_ptr<Kernel> make_guarded_softmax_kernel(std::unique_ptr<Kernel> softmax, int64_t length, int64_t lines,
                                                                  Team team);

/// The steps of an Attention between its two products, over dense f32 scores [batch, heads, queries, keys]: invisible keys get 0, the
/// others softmax(softcap · tanh(scale · score / softcap) + mask).
struct AttentionSoftmax {
  Dims dims;
  float scale = 1, softcap = 0;    ///< 0: no cap
  std::vector<Span> visible;       ///< keys that are visible to each query
  std::optional<TensorDesc> mask;  ///< f32 or bool under `dims`, except that the last dim may be shorter
};
/// Operands: the mask, if there is one, then the scores, in place.
[[nodiscard]] std::unique_ptr<Kernel> make_attention_softmax_kernel(AttentionSoftmax spec, Team team);

}  // namespace relayout::exec
