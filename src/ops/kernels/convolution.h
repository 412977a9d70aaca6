#pragma once

#include <functional>

#include "ops/kernels/window.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"

namespace relayout {

/// One element of a kernel: the offset of its input from the output position times step, and the position of its weight.
struct Tap {
  Dims offset;         ///< per spatial dim, in input elements
  int64_t weight = 0;  ///< elements from weight [0, 0, …]
};

/// Weights w[m][c] per tap: `rows` output channels × `channels` input channels at the given strides.
struct CorrelationWeights {
  DataType type = DataType::undefined;
  const std::byte* data = nullptr;
  int64_t rows = 0, channels = 0, row_stride = 0, channel_stride = 0;
  /// Subtracted from each weight of row m (zero points); may be empty.
  std::function<double(int64_t)> zero_point;
};

/// out[m][o] = Σ_c Σ_tap w[m][c][tap] · x[c][o · step + tap.offset], where positions outside x count as zero. A convolution is one
/// correlation per image and group, a transposed convolution one per phase of its strides.
struct Correlation {
  DataType type = DataType::undefined;  ///< of x
  Dims input_dims;                      ///< spatial
  Dims input_strides;
  int64_t channel_stride = 0;
  Dims output_dims;  ///< spatial
  Dims step;
  std::vector<Tap> taps;
  double zero_point = 0;  ///< subtracted from x where it is inside
};

/// Weights as double, [rows][channels × taps], packed once for all images.
[[nodiscard]] std::vector<double> pack_weights(const CorrelationWeights& weights, const std::vector<Tap>& taps);

/// Receives `count` results of row m from flat (row-major) output position `position` on.
using StoreResults = std::function<void(int64_t row, int64_t position, int64_t count, const double* values)>;

/// Sums run in double in the order of channels, then taps. `x` is the address of channel 0.
void correlate(int threads, const Correlation& correlation, const std::vector<double>& weights, int64_t rows, int64_t channels,
               const std::byte* x, const StoreResults& store_results);

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
