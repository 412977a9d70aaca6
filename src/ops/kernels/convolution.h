#pragma once

#include "ops/kernels/correlation.h"
#include "ops/kernels/window.h"
#include "ops/loops/strided.h"

namespace relayout {

/// Writes runs of results to the spatial positions of one channel: flat row-major positions, for any strides.
class ChannelWriter {
 public:
  ChannelWriter(DataType type, const Dims& dims, const Dims& strides);
  void write(std::byte* channel, int64_t position, int64_t count, const double* values) const;

 private:
  DataType type_;
  Dims dims_, strides_;
  bool linear_;  ///< positions have one common stride
};

/// The operands and the differences of Conv, ConvInteger and QLinearConv.
struct ConvolutionParts {
  Tensor x, w, out;
  Window window;
  int64_t groups = 1;
  double x_zero_point = 0;
  std::function<double(int64_t)> w_zero_point;  ///< per output channel; may be empty
  /// Turns sums of output channel m into results, in place.
  std::function<void(int64_t m, int64_t count, double* values)> finish;
};

void convolve(int threads, const ConvolutionParts& parts);
/// Window, attribute `group`, checked against channels [N, C, …] and weights [M, C/g, …], and dims of the result.
struct ConvolutionShape {
  Window window;
  int64_t groups = 1;
  Dims dims;
};
[[nodiscard]] ConvolutionShape convolution_shape(const OpCall& call, const Dims& x, const Dims& w);
/// The same of ConvTranspose, with weights [C, M/g, …]: out[o] gets x[i] · w[k] where o = i · stride + k · dilation − before.
[[nodiscard]] ConvolutionShape transposed_convolution_shape(const OpCall& call, const Dims& x, const Dims& w);

}  // namespace relayout
