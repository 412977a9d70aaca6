#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// Convolutions of 3 × 3 windows at stride 1 by Winograd's minimal filtering F(2 × 2, 3 × 3) (Lavin and Gray, "Fast Algorithms for
/// Convolutional Neural Networks", CVPR 2016): each tile of 4 × 4 inputs gives 2 × 2 outputs by 16 products instead of 36. The products of
/// all tiles are 16 matrix products, tiles × channels by channels × outputs. Windows of several planes are sums of windows of one plane.
/// Rounding differs from a sum term by term, in proportion to the largest elements of a tile; small whole numbers stay exact.
struct WinogradConvolution {
  int64_t images = 1, channels = 1, outputs = 1;
  int64_t depth = 1, height = 1, width = 1;  ///< of the source
  int64_t output_depth = 1, output_height = 1, output_width = 1;
  int64_t window_depth = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0;
  bool has_bias = false, has_residual = false;  ///< the residual has the destination's dims
  float lowest = -std::numeric_limits<float>::infinity(), highest = std::numeric_limits<float>::infinity();  ///< then clipped to this

  /// Number of tiles in one plane of each image, over all images.
  [[nodiscard]] int64_t tiles() const { return images * ((output_height + 1) / 2) * ((output_width + 1) / 2); }
  /// Number of planes of the source that windows reach, padding included.
  [[nodiscard]] int64_t planes() const { return output_depth + window_depth - 1; }
  /// Number of tiles whose planes are computed together: their transformed inputs and outputs stay in the cache between the stages.
  [[nodiscard]] int64_t block(int threads) const;
  /// The 16 products of a block and of one plane of the windows; planes after the first are added to the destination.
  [[nodiscard]] Matmul product(int64_t plane, int threads) const;
};

/// One plane (0 where there are no planes) of weights [outputs, channels, (planes,) 3, 3] of any strides as [16, channels, outputs]: G · g
/// · Gᵀ of each window, in double with one rounding.
[[nodiscard]] Tensor winograd_weights(const Tensor& weights, int64_t plane);

/// `products`: one for each plane of the windows. Operands: source, the products' packed weights, the bias [outputs] and the residual where
/// there are any, destination. Images are dense channels-last; the destination shares no memory with other operands. Tiles whose results
/// are not finite are computed again term by term, with the weights from `plain_weights`, so that NaN and infinities reach the same outputs
/// as in a direct convolution.
[[nodiscard]] std::unique_ptr<Kernel> make_winograd_kernel(const WinogradConvolution& shape,
                                                           std::vector<std::unique_ptr<Primitive>> products,
                                                           std::function<Tensor()> plain_weights, Team team);

}  // namespace relayout::exec
