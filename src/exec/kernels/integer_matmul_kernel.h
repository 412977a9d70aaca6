#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"

namespace relayout::exec {

/// source [rows × depth] · weights [depth × columns] of 8-bit integers for each pair of matrices; offsets and strides in elements.
struct IntegerMatmul {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t source_row_stride = 0;  ///< elements of a row are adjacent, in the destination too
  int64_t weights_depth_stride = 0, weights_column_stride = 0;
  struct Pair {
    int64_t source = 0, weights = 0, destination = 0;
  };
  std::vector<Pair> pairs;
  bool packed = false;  ///< weights are the panels of one matrix
};
[[nodiscard]] std::unique_ptr<Kernel> make_integer_matmul_kernel(const IntegerMatmul& product, const IntegerParameters& parameters,
                                                                 Team team);

}  // namespace relayout::exec
