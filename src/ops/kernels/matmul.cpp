// Multiplies matrices with any strides, sums in double, and computes determinants.
#include "ops/kernels/matmul.h"

#include <cmath>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/product.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

void multiply_matrices(int threads, const Matrix& a, const Matrix& b, const MatrixResult& store_row) {
  with_wide_domain(a.type, [&]<class Domain>(Domain) {
    using Accumulator = std::conditional_t<std::is_integral_v<Domain>, uint64_t, double>;
    const auto load_rows = [&](int64_t row, int64_t rows, int64_t k, int64_t depth, Accumulator* buffer, int64_t& stride) {
      for (int64_t i = 0; i < rows; ++i) load(a.type, a.at(row + i, k), a.column_stride, depth, buffer + i * stride);
      return static_cast<const Accumulator*>(buffer);
    };
    const auto load_panel = [&](int64_t k, int64_t depth, int64_t column, int64_t columns, Accumulator* panel) {
      constexpr int64_t kWidth = ProductBlock::kColumns;
      if (std::abs(b.column_stride) <= std::abs(b.row_stride)) {
        for (int64_t i = 0; i < depth; ++i) load(b.type, b.at(k + i, column), b.column_stride, columns, panel + i * kWidth);
        return;
      }
      std::array<Accumulator, ProductBlock::kDepth> one_column;
      for (int64_t j = 0; j < columns; ++j) {
        load(b.type, b.at(k, column + j), b.row_stride, depth, one_column.data());
        for (int64_t i = 0; i < depth; ++i) panel[i * kWidth + j] = element_at(one_column, i);
      }
    };
    const auto store = [&](int64_t row, int64_t column, int64_t columns, const Accumulator* values) {
      if constexpr (std::is_same_v<Accumulator, double>)
        store_row.reals(row, column, columns, values);
      else
        store_row.integers(row, column, columns, values);
    };
    const double work = static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(b.columns);
    multiply_all<Accumulator>(threads_for(work, threads), a.rows, a.columns, b.columns, load_rows, load_panel, store);
  });
}

Matrix matrix_of(const Tensor& tensor, bool transposed) {
  Matrix matrix{tensor.type(), tensor.bytes(), tensor.dims()[0], tensor.dims()[1], tensor.strides()[0], tensor.strides()[1]};
  if (transposed) {
    std::swap(matrix.rows, matrix.columns);
    std::swap(matrix.row_stride, matrix.column_stride);
  }
  return matrix;
}

MatmulShape matmul_shape(const OpCall& call, const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) reject(call, "an operand is a scalar");
  MatmulShape shape;
  shape.rows = a.size() > 1 ? a[a.size() - 2] : 1;
  shape.columns = b.size() > 1 ? b.back() : 1;
  shape.depth = a.back();
  if (shape.depth != (b.size() > 1 ? b[b.size() - 2] : b.back())) {
    reject(call, "dims " + to_string(a) + " and " + to_string(b) + " do not multiply");
  }
  const auto leading = [](const Dims& dims) { return dims.size() > 2 ? Dims(dims.begin(), dims.end() - 2) : Dims(); };
  shape.batch = broadcast_dims(call, leading(a), leading(b));
  shape.dims = shape.batch;
  if (a.size() > 1) shape.dims.push_back(shape.rows);
  if (b.size() > 1) shape.dims.push_back(shape.columns);
  return shape;
}

void for_each_matrix(const MatmulShape& shape, const Tensor& out, const Tensor& a, const Tensor& b,
                     const std::function<void(std::byte* out, const Matrix& a, const Matrix& b)>& work) {
  // Operands have the batch dims plus two; a vector is a matrix of one row (a) or column (b).
  const auto batch_operand = [&](const Tensor& tensor) {
    const std::size_t keep = tensor.dims().size() > 2 ? tensor.dims().size() - 2 : 0;
    const Tensor lead = tensor.view(Dims(tensor.dims().begin(), tensor.dims().begin() + static_cast<std::ptrdiff_t>(keep)),
                                    Dims(tensor.strides().begin(), tensor.strides().begin() + static_cast<std::ptrdiff_t>(keep)));
    return broadcast_operand(lead, shape.batch);
  };
  Operand out_operand = operand(out);
  out_operand.strides.resize(shape.batch.size());
  const Matrix a_matrix{a.type(),          nullptr, shape.rows, shape.depth, a.rank() > 1 ? a.strides()[a.dims().size() - 2] : 0,
                        a.strides().back()};
  const Matrix b_matrix{b.type(),
                        nullptr,
                        shape.depth,
                        shape.columns,
                        b.rank() > 1 ? b.strides()[b.dims().size() - 2] : b.strides().back(),
                        b.rank() > 1 ? b.strides().back() : 0};
  const StridedLoop loop(shape.batch, {out_operand, batch_operand(a), batch_operand(b)});
  loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      Matrix left = a_matrix, right = b_matrix;
      left.data = data[1] + i * strides[1] * element_stride(a.type());
      right.data = data[2] + i * strides[2] * element_stride(b.type());
      work(data[0] + i * strides[0] * element_stride(out.type()), left, right);
    }
  });
}

void multiply_tensors(const OpCall& call, const Tensor& a, const Tensor& b, const Tensor& out) {
  const MatmulShape shape = matmul_shape(call, a.dims(), b.dims());
  if (out.element_count() == 0) return;
  const DataType type = out.type();
  const std::size_t rank = out.dims().size();
  const int64_t column_stride = b.rank() > 1 ? out.strides()[rank - 1] : 0;
  const int64_t row_stride = a.rank() > 1 ? out.strides()[rank - (b.rank() > 1 ? 2 : 1)] : 0;
  for_each_matrix(shape, out, a, b, [&](std::byte* to, const Matrix& left, const Matrix& right) {
    const auto store_row = [&]<class T>(int64_t row, int64_t column, int64_t columns, const T* values) {
      store(type, to + (row * row_stride + column * column_stride) * element_stride(type), column_stride, columns, values);
    };
    multiply_matrices(call.threads, left, right, {store_row, store_row});
  });
}

}  // namespace relayout

namespace relayout::kernels {

Inferred infer_matmul(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const auto [a, b] = two_of_one_type(call, inputs, kNumericTypes);
  return one(call, a.type, matmul_shape(call, a.dims, b.dims).dims);
}

void matmul(const OpCall& call, InputData inputs, OutputData outputs) {
  multiply_tensors(call, tensor_at(inputs, 0), tensor_at(inputs, 1), outputs[0]->tensor);
}

Inferred infer_gemm(const OpCall& call, InputInfos inputs) {
  constexpr int64_t kOptionalOpset = 11;
  require_inputs(call, inputs, call.opset < kOptionalOpset ? 3 : 2, 3);
  const auto [a, b] = two_of_one_type(call, inputs, kNumericTypes);
  if (a.dims.size() != 2 || b.dims.size() != 2)
    reject(call, "operands of dims " + to_string(a.dims) + " and " + to_string(b.dims) + " are not matrices");
  const bool a_transposed = call.attributes.integer("transA", 0) != 0;
  const bool b_transposed = call.attributes.integer("transB", 0) != 0;
  const Dims dims{a.dims[a_transposed ? 1 : 0], b.dims[b_transposed ? 0 : 1]};
  if (a.dims[a_transposed ? 0 : 1] != b.dims[b_transposed ? 1 : 0]) {
    reject(call, "dims " + to_string(a.dims) + " and " + to_string(b.dims) + " do not multiply");
  }
  if (const DatumInfo* c = optional_tensor_info(call, inputs, 2, kNumericTypes)) {
    require_same_type(call, a, *c);
    if (c->dims.size() > 2 || broadcast_dims(call, dims, c->dims) != dims) {
      reject(call, "dims " + to_string(c->dims) + " of C do not broadcast to " + to_string(dims));
    }
  }
  return one(call, a.type, dims);
}

/// alpha · A · B + beta · C.
void gemm(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const DataType type = out.type();
  const double alpha = call.attributes.real("alpha", 1.0F), beta = call.attributes.real("beta", 1.0F);
  Operand c;
  if (present(inputs, 2)) c = broadcast_operand(tensor_at(inputs, 2), out.dims());
  const auto c_at = [&](int64_t row, int64_t column) { return c.data + (row * c.strides[0] + column * c.strides[1]) * c.size; };
  const auto target = [&](int64_t row, int64_t column) {
    return out.bytes() + (row * out.strides()[0] + column * out.strides()[1]) * element_stride(type);
  };
  const auto scale_reals = [&](int64_t row, int64_t column, int64_t columns, const double* values) {
    std::array<double, ProductBlock::kColumns> addend{}, total;
    if (c.data != nullptr) load(type, c_at(row, column), c.strides[1], columns, addend.data());
    for (std::size_t j = 0; j < as_size(columns); ++j) {
      total[j] = c.data == nullptr ? alpha * values[j] : alpha * values[j] + beta * addend[j];
    }
    store(type, target(row, column), out.strides()[1], columns, total.data());
  };
  const auto scale_integers = [&](int64_t row, int64_t column, int64_t columns, const uint64_t* values) {
    std::array<uint64_t, ProductBlock::kColumns> addend{}, total;
    if (c.data != nullptr) load(type, c_at(row, column), c.strides[1], columns, addend.data());
    // Factors of integers are whole numbers in practice; fractions are cut off.
    const auto whole = [](double factor) {
      return static_cast<uint64_t>(static_cast<int64_t>(std::fmax(std::fmin(factor, 0x1p62), -0x1p62)));
    };
    for (std::size_t j = 0; j < as_size(columns); ++j) total[j] = whole(alpha) * values[j] + whole(beta) * addend[j];
    store(type, target(row, column), out.strides()[1], columns, total.data());
  };
  const Matrix a = matrix_of(tensor_at(inputs, 0), call.attributes.integer("transA", 0) != 0);
  const Matrix b = matrix_of(tensor_at(inputs, 1), call.attributes.integer("transB", 0) != 0);
  multiply_matrices(call.threads, a, b, {scale_reals, scale_integers});
}

// Determinants.

Inferred infer_det(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (x.dims.size() < 2 || x.dims.back() != x.dims[x.dims.size() - 2])
    reject(call, "dims " + to_string(x.dims) + " are not of square matrices");
  return results(call, tensor_of(x.type, Dims(x.dims.begin(), x.dims.end() - 2)));
}

namespace {

/// Determinant by elimination with the largest pivot of each column.
double determinant(std::vector<double> a, std::size_t size) {
  double result = 1;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i) {
      if (std::abs(a[i * size + k]) > std::abs(a[pivot * size + k])) pivot = i;
    }
    if (a[pivot * size + k] == 0) return 0;
    if (pivot != k) {
      for (std::size_t j = 0; j < size; ++j) std::swap(a[k * size + j], a[pivot * size + j]);
      result = -result;
    }
    result *= a[k * size + k];
    for (std::size_t i = k + 1; i < size; ++i) {
      const double factor = a[i * size + k] / a[k * size + k];
      for (std::size_t j = k; j < size; ++j) a[i * size + j] -= factor * a[k * size + j];
    }
  }
  return result;
}

}  // namespace

void det(const OpCall&, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const std::size_t lead = x.dims().size() - 2;
  const Dims matrix(x.dims().begin() + static_cast<std::ptrdiff_t>(lead), x.dims().end());
  const Dims strides(x.strides().begin() + static_cast<std::ptrdiff_t>(lead), x.strides().end());
  for_each_index(out.dims(), [&](const Dims& index) {
    int64_t from = 0, to = 0;
    for (std::size_t i = 0; i < lead; ++i) {
      from += index[i] * x.strides()[i];
      to += index[i] * out.strides()[i];
    }
    const double value = determinant(reals_of(x.view(matrix, strides, from)), as_size(matrix[0]));
    store_one(out.type(), out.bytes() + to * element_stride(out.type()), value);
  });
}

}  // namespace relayout::kernels
