#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "ops/call.h"
#include "ops/loops/product.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// A matrix in memory, strides in elements.
struct Matrix {
  DataType type = DataType::undefined;
  const std::byte* data = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  [[nodiscard]] const std::byte* at(int64_t row, int64_t column) const {
    return data + (row * row_stride + column * column_stride) * element_stride(type);
  }
};

/// A tensor of rank 2.
[[nodiscard]] Matrix matrix_of(const Tensor& tensor, bool transposed);

/// Receives part of a row of a product: (row, column, columns, values).
struct MatrixResult {
  std::function<void(int64_t, int64_t, int64_t, const double*)> reals;
  std::function<void(int64_t, int64_t, int64_t, const uint64_t*)> integers;
};

/// a · b; sums run in double, sums of integers modulo 2^64.
void multiply_matrices(int threads, const Matrix& a, const Matrix& b, const MatrixResult& store_row);

/// numpy.matmul: vectors get a dim that the result loses, leading dims broadcast.
struct MatmulShape {
  int64_t rows = 1, depth = 1, columns = 1;
  Dims batch, dims;
};
[[nodiscard]] MatmulShape matmul_shape(const OpCall& call, const Dims& a, const Dims& b);
/// Calls work for every pair of matrices, with the address of its result.
void for_each_matrix(const MatmulShape& shape, const Tensor& out, const Tensor& a, const Tensor& b,
                     const std::function<void(std::byte* out, const Matrix& a, const Matrix& b)>& work);

/// out = matmul(a, b), with any strides; a and b have the same type.
void multiply_tensors(const OpCall& call, const Tensor& a, const Tensor& b, const Tensor& out);

/// An Einsum of two operands as `batch` products of a rows × depth by a depth × columns matrix.
struct EinsumProduct {
  TensorDesc left, right;  ///< views of the operands as [batch…, rows…, depth…] and [batch…, depth…, columns…]
  int64_t batch = 1, rows = 1, depth = 1, columns = 1;
  Dims made;                        ///< [batch…, rows…, columns…]
  std::vector<std::size_t> output;  ///< per dim of the output: its index in `made`
};

/// Nothing for an elementwise product, and where one operand has sums of its own.
[[nodiscard]] std::optional<EinsumProduct> einsum_product(const OpCall& call, const TensorDesc& a, const TensorDesc& b);

}  // namespace relayout
