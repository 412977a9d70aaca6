#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "exec/kernels/kernel.h"
#include "exec/program.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// RNN, GRU or LSTM in f32 with their default activations.
struct Recurrence {
  enum class Kind : uint8_t { rnn, gru, lstm };
  Kind kind = Kind::lstm;
  int64_t gates = 4, steps = 0, batch = 0, hidden = 0, directions = 1;
  bool reverse = false;              ///< the only direction is the reverse one
  bool batch_first = false;          ///< attribute layout
  bool linear_before_reset = false;  ///< of a GRU
  bool bias = false, lengths = false, initial_h = false, initial_c = false, peepholes = false;
  bool y = false, y_h = false, y_c = false;
  [[nodiscard]] int64_t columns() const { return gates * hidden; }
};

/// Bytes of packed recurrent weights, all directions.
[[nodiscard]] int64_t packed_bytes(const Recurrence& recurrence);
/// Packs R [directions, gates · hidden, hidden] of any strides.
void pack_weights(const Recurrence& recurrence, const Tensor& weights, std::byte* packed);

/// Operands, all dense f32: X · Wᵀ as [steps, batch, directions · gates · hidden] (the first two swapped with batch_first), packed R, then
/// those present of B, lengths (int32), initial_h, initial_c, P, Y, Y_h, Y_c. Error{invalid} names the node when a length is out of range.
[[nodiscard]] std::unique_ptr<Kernel> make_recurrent_kernel(const Recurrence& recurrence, const ProgramNode& node, Team team);

}  // namespace relayout::exec
