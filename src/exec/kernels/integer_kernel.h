#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// Operands of the integer kernels behind source and weights, in this order; the destination comes last. All dense.
struct IntegerParameters {
  bool source_zero = false;   ///< one zero point
  int64_t weights_zeros = 0;  ///< none, one, or one per column
  /// Results are saturate(round half to even(sum · factor) + destination zero point) with factor = source scale · weights scale /
  /// destination scale: four operands, weights scales one or one per column. Otherwise results are the sums, as int32.
  bool requantizes = false;
  int64_t weights_scales = 0;
  bool bias = false;  ///< int32, one per column
  DataType source_type = DataType::uint8, weights_type = DataType::int8, destination_type = DataType::int32;
};

/// source [rows × depth] · weights [depth × columns] of 8-bit integers for each pair of matrices; offsets and strides in elements.
struct IntegerMatmul {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t source_row_stride = 0;  ///< elements of a row are neighbours, of the destination too
  int64_t weights_depth_stride = 0, weights_column_stride = 0;
  struct Pair {
    int64_t source = 0, weights = 0, destination = 0;
  };
  std::vector<Pair> pairs;
  bool packed = false;  ///< weights are panels of one matrix
};
[[nodiscard]] std::unique_ptr<Kernel> make_integer_matmul_kernel(const IntegerMatmul& product, const IntegerParameters& parameters,
                                                                 Team team);

/// A convolution of 8-bit integers over [N, C, …] with at most three spatial dims; source and destination dense channels-last. Weights
/// [M, C/g, …] are packed: panels group by group, depth running over taps, then channels; of a depthwise one (one channel in and out
/// per group) they are [taps][channels] as they are.
struct IntegerConvolution {
  Dims source, destination;  ///< [N, C, …], [N, M, …]
  int64_t groups = 1;
  Dims kernel, strides, dilations, before;
};
[[nodiscard]] bool is_depthwise(const IntegerConvolution& convolution);
[[nodiscard]] int64_t packed_bytes(const IntegerConvolution& convolution);
/// Weights of the dims above under any strides.
void pack_weights(const IntegerConvolution& convolution, const Tensor& weights, std::byte* packed);
[[nodiscard]] std::unique_ptr<Kernel> make_integer_convolution_kernel(const IntegerConvolution& convolution,
                                                                      const IntegerParameters& parameters, Team team);

}  // namespace relayout::exec
