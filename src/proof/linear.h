#pragma once

#include <optional>
#include <vector>

#include "ops/partial_dims.h"
#include "proof/side.h"

namespace relayout::proof {

/// The channels of the weights of one row, on the input or the output side.
struct Channels {
  int64_t first = 0, step = 0;
  [[nodiscard]] int64_t of(int64_t column) const { return first + column * step; }
};

/// A node that is linear in its data operand with a constant weight: the interface between operators and the one formula of a fold. The
/// weight is viewed as [rows, columns, inner], row-major over its logical dims. Each element connects one input channel to one output
/// channel, and these depend on row and column alone.
struct Linear {
  enum class Kind { conv, conv_transpose, gemm, matmul_right, matmul_left };
  Kind kind = Kind::conv;
  const Node* node = nullptr;
  Ref output, data, weight_value, bias_value;
  std::size_t weight_input = 1;
  Constant weight;
  std::optional<Constant> bias;  ///< if constant
  int64_t rows = 1, columns = 1, inner = 1;
  int64_t outputs = 1, inputs = 1;  ///< channels
  int64_t groups = 1;
  bool transposed = false;       ///< Gemm: transB
  double alpha = 1, beta = 1;    ///< Gemm
  int64_t rank = -1;             ///< of the result, -1 if unknown
  Axis output_axis, input_axis;  ///< of the channels in result and data operand
  bool takes_shift = false;      ///< every output element sums all taps, so that a shift of the data operand is a shift of the result

  [[nodiscard]] Channels output_channels(int64_t row) const;
  [[nodiscard]] Channels input_channels(int64_t row) const;
  /// Whether the output channel depends on the row alone.
  [[nodiscard]] bool output_by_row() const {
    return kind != Kind::conv_transpose && kind != Kind::matmul_right && !(kind == Kind::gemm && !transposed);
  }
};

/// The Conv, ConvTranspose, Gemm or MatMul that produces `output`, of real types with a constant weight. Empty for all other nodes and for
/// operands that do not fit each other.
[[nodiscard]] std::optional<Linear> read_linear(Side& side, Shapes& shapes, Ref output);
/// Whether the node could be one, judged without its operands.
[[nodiscard]] bool is_linear(const Node& node);

/// A MatMul with a constant matrix on its right, or an equivalent Gemm with a bias, both as such a MatMul: the product of the last axis of
/// `data` with `weight` [inputs, outputs]. Empty for any other node.
[[nodiscard]] std::optional<Linear> read_product(Side& side, Shapes& shapes, Ref output);

}  // namespace relayout::proof
