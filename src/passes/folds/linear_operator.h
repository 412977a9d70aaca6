#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "passes/folds/affine.h"
#include "passes/pass.h"

namespace relayout::passes {

/// The term that a linear operator adds to its products.
struct LinearBias {
  bool is_missing = false;         ///< MatMul without an Add: a bias would need a new node
  const Node* node = nullptr;      ///< the node that reads it; null if none can
  std::size_t input = 2;           ///< index of that node's input
  std::optional<Constant> stored;  ///< empty: 0
  int64_t rows = 1;                ///< Gemm: 1, or the number of rows of the result
  std::vector<double> values;      ///< row-major over [rows, outputs], in full precision; with β applied
};

/// The weight of a linear operator. Each element is in one row and one column (two of its dims) and connects one input channel with one
/// output channel, which depend on row and column only:
///
///                     weight         rows → columns               per group
///     Conv            [O, I/g, k…]   outputs → inputs of a group   yes
///     ConvTranspose   [I, O/g, k…]   inputs → outputs of a group   yes
///     Gemm            [K, N] or [N, K] (transB)
///     MatMul          […, K, O] on the right, […, O, K] on the left
struct LinearWeight {
  std::size_t input = 1;  ///< index of the node's input
  Constant stored;
  std::size_t row_axis = 0, column_axis = 1;
  bool outputs_in_rows = true;
  int64_t groups = 1;

  [[nodiscard]] int64_t rows() const { return stored.dims[row_axis]; }
  [[nodiscard]] int64_t columns() const { return stored.dims[column_axis]; }
  [[nodiscard]] int64_t output_channel(int64_t row, int64_t column) const { return outputs_in_rows ? row : across(row, column); }
  [[nodiscard]] int64_t input_channel(int64_t row, int64_t column) const { return outputs_in_rows ? across(row, column) : row; }
  /// The scale of the weight for one factor per output or input channel, or one for all.
  [[nodiscard]] Scale over_outputs(std::span<const double> factors) const;
  [[nodiscard]] Scale over_inputs(std::span<const double> factors) const;

 private:
  [[nodiscard]] int64_t across(int64_t row, int64_t column) const {
    return groups == 1 ? column : row / (rows() / groups) * columns() + column;
  }
  [[nodiscard]] Scale over(bool along_rows, std::span<const double> factors) const;
};

/// Conv, ConvTranspose, Gemm or MatMul with a constant weight, in a form that the arithmetic of folds handles alike for all of them. An Add
/// of one constant per channel directly downstream of a MatMul is its bias.
struct LinearOperator {
  const Node* node = nullptr;
  std::size_t data_input = 0;
  LinearWeight weight;
  int64_t outputs = 0, inputs = 0;  ///< channels
  Axis output_axis, input_axis;     ///< axes of the channels in result and data
  int64_t rank = -1;                ///< of the result, and of the data unless that is broadcast; −1: not known
  int64_t data_rank = -1;           ///< of the data; −1: not known
  double alpha = 1, beta = 1;       ///< Gemm
  bool takes_shift = true;          ///< every output element sums all taps: a shift of the data is a shift of the result
  LinearBias bias;

  /// Dims of a bias with one number per output channel, in the form of the existing bias.
  [[nodiscard]] Dims bias_dims() const;
};

/// Whether the node has one of the four operators, with any operands.
[[nodiscard]] bool is_linear(const Node& node);
/// Reads a linear operator, or returns why it cannot be changed. Error{invalid} for a weight or bias that does not fit.
[[nodiscard]] std::variant<LinearOperator, Skip> linear_operator(const Node& node, PassContext& context);
/// The MatMul to which this Add adds the bias, or nullptr.
[[nodiscard]] const Node* biased_matmul(const Node& add, PassContext& context);

}  // namespace relayout::passes
