// Loops over the elements of tensors as doubles, 2048 at a time; complex numbers count as their real and imaginary parts.
#pragma once

#include <array>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"

namespace relayout {

/// Maximum number of elements that are widened to double at a time.
inline constexpr int64_t kElementChunk = 2048;

/// A complex tensor as its real and imaginary parts, with one more dim of size 2; any other tensor unchanged. Contiguous.
[[nodiscard]] inline Tensor real_parts(const Tensor& tensor) {
  Tensor dense = contiguous(tensor);
  if (tensor.type() != DataType::complex64 && tensor.type() != DataType::complex128) return dense;
  const DataType part = tensor.type() == DataType::complex64 ? DataType::float32 : DataType::float64;
  Dims dims = dense.dims();
  dims.push_back(2);
  Dims strides = contiguous_strides(dims);
  return {TensorDesc{part, std::move(dims), std::move(strides)}, dense.bytes(), dense.owner()};
}

/// Calls f(first, values) for the elements of a contiguous tensor, chunk by chunk.
template <class F>
void for_each_chunk(const Tensor& tensor, F&& f) {
  std::array<double, kElementChunk> buffer;
  const int64_t stride = element_stride(tensor.type());
  const int64_t count = tensor.element_count();
  for (int64_t first = 0; first < count; first += kElementChunk) {
    const int64_t size = std::min(kElementChunk, count - first);
    load<double>(tensor.type(), tensor.bytes() + first * stride, 1, size, buffer.data());
    f(first, std::span<const double>(buffer.data(), as_size(size)));
  }
}

/// Calls f(first, values_a, values_b) for two contiguous tensors of one type and dims.
template <class F>
void for_each_chunk(const Tensor& a, const Tensor& b, F&& f) {
  std::array<double, kElementChunk> buffer_a, buffer_b;
  const int64_t stride = element_stride(a.type());
  const int64_t count = a.element_count();
  for (int64_t first = 0; first < count; first += kElementChunk) {
    const int64_t size = std::min(kElementChunk, count - first);
    load<double>(a.type(), a.bytes() + first * stride, 1, size, buffer_a.data());
    load<double>(b.type(), b.bytes() + first * stride, 1, size, buffer_b.data());
    const auto span_size = as_size(size);
    f(first, std::span<const double>(buffer_a.data(), span_size), std::span<const double>(buffer_b.data(), span_size));
  }
}

}  // namespace relayout
