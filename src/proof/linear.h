#pragma once

#include <optional>
#include <vector>

#include "proof/affine_steps.h"
#include "proof/shapes.h"
#include "proof/side.h"

namespace relayout::proof {

/// Channels that the weights of one row stand between on one side.
struct Channels {
  int64_t first = 0, step = 0;
  [[nodiscard]] int64_t of(int64_t column) const { return first + column * step; }
};

/// A node that is linear in its data operand with a constant weight: the seam between operators and the one formula of a fold.
/// The weight is seen as [rows, columns, inner], row-major over its logical dims; each of its elements leads from one input channel
/// to one output channel, which depend on row and column alone.
struct Linear {
  enum class Kind { conv, conv_transpose, gemm, matmul_right, matmul_left };
  Kind kind = Kind::conv;
  const Node* node = nullptr;
  Ref output, data, weight_value, bias_value;
  std::size_t weight_input = 1;
  Constant weight;
  std::optional<Constant> bias;  ///< when constant
  int64_t rows = 1, columns = 1, inner = 1;
  int64_t outputs = 1, inputs = 1;  ///< channels
  int64_t groups = 1;
  bool transposed = false;       ///< Gemm: transB
  double alpha = 1, beta = 1;    ///< Gemm
  int64_t rank = -1;             ///< of the result, -1 when not known
  Axis output_axis, input_axis;  ///< of the channels in result and data operand
  bool takes_shift = false;      ///< every output element sums all taps: a shift of the data operand is a shift of the result

  [[nodiscard]] Channels output_channels(int64_t row) const;
  [[nodiscard]] Channels input_channels(int64_t row) const;
  /// Whether the output channel depends on the row alone.
  [[nodiscard]] bool output_by_row() const {
    return kind != Kind::conv_transpose && kind != Kind::matmul_right && !(kind == Kind::gemm && !transposed);
  }
};

/// Conv, ConvTranspose, Gemm or MatMul that makes `output`, of real types with a constant weight; nothing for everything else and for
/// operands that do not fit each other.
[[nodiscard]] std::optional<Linear> read_linear(Side& side, Shapes& shapes, Ref output);
/// Whether the node could be one, without looking at operands.
[[nodiscard]] bool is_linear(const Node& node);

}  // namespace relayout::proof
