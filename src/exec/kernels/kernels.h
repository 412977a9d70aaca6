// Declares what makes each kernel, and the description of its work.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/kernels/resize.h"
#include "ops/kernels/window.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// An operand of an op kernel: a tensor (bound like any kernel's), a datum in a slot of the plan, or absent.
struct OpOperand {
  const TensorDesc* desc = nullptr;
  Datum* slot = nullptr;
};

/// The op table's kernel for one node. Operands to bind are the tensors, in order, inputs before outputs.
[[nodiscard]] std::unique_ptr<Kernel> make_op_kernel(const ProgramNode& node, const std::vector<OpOperand>& inputs,
                                                     const std::vector<OpOperand>& outputs);

/// Concatenates non-empty sources of any strides along `axis` of a destination without gaps. Operands are the sources, then the
/// destination. Not for strings.
[[nodiscard]] std::unique_ptr<Kernel> make_concat_kernel(const std::vector<TensorDesc>& sources, const TensorDesc& destination,
                                                         std::size_t axis, Team team);

/// A function of one variable, or of a variable and an operand.
struct ElementFunction {
  bool is_binary = false;
  Function function = Function::relu;
  float alpha = 0, beta = 0;
  BinaryFunction binary = BinaryFunction::add;
  bool reversed = false;  ///< the operand is the first argument
};

/// One function of a chain.
struct ElementwiseStage : ElementFunction {
  std::size_t operand = 0;  ///< of a binary: index among the further operands of the kernel
  bool keeps = false;       ///< the result is written, too
};

/// Further operands that one chain may have.
inline constexpr std::size_t kMostElementwiseOperands = 8;

/// destination = stages(source): operand 0 is the source, then the further operands, then those that stages keep, then the destination. All
/// are f32 and have the destination's dims, broadcast ones with strides 0; any strides. Those that are kept have the strides of the
/// destination, without gaps. The destination may be the source's memory when strides agree. NaN and
/// infinities follow IEEE 754, unlike in the library's kernels.
[[nodiscard]] std::unique_ptr<Kernel> make_elementwise_kernel(const std::vector<TensorDesc>& operands, const TensorDesc& destination,
                                                              std::vector<ElementwiseStage> stages, Team team);

/// destination[line] = the sum of stages(source) over the line, divided by `divisor`. `lines`: number and length. Operands as above, of
/// these dims; the destination is dense.
[[nodiscard]] std::unique_ptr<Kernel> make_line_sum_kernel(const std::vector<TensorDesc>& operands, const Dims& lines,
                                                           std::vector<ElementwiseStage> stages, double divisor, Team team);

/// Dense tensors as [outer, axis, inner]: a long one, with `length` elements along the axis, and one with `indexed` of them.
struct IndexedLines {
  int64_t outer = 1, length = 1, indexed = 1, inner = 1;
};
enum class IndexedUse : uint8_t { read, add, add_to_number };
/// Operands: the indices, int64; the source; to add to a number in all elements, that number; the destination. To read: the destination
/// gets elements of the source, the long one. To add: the source is added to elements of the destination, the long one. From the indices
/// of lines [outer, inner] those in `begins` are subtracted first, if there are any. Error{invalid} names the node when an index is out of
/// range.
[[nodiscard]] std::unique_ptr<Kernel> make_indexed_kernel(const IndexedLines& shape, IndexedUse use, std::vector<int64_t> begins,
                                                          const ProgramNode& node, Team team);

/// destination = stage(source) of `count` adjacent 16-bit floats, computed in f32.
[[nodiscard]] std::unique_ptr<Kernel> make_narrow_elementwise_kernel(DataType type, int64_t count, const ElementwiseStage& stage,
                                                                     Team team);

/// Dense blocks of f32, interpolated along `dims`, the outermost first, with `tail` elements inside the last. Arithmetic is in f32.
struct Interpolation {
  int64_t blocks = 1, tail = 1;
  std::vector<ResizeTaps> dims;  ///< all with taps
};
/// Operand 0 is the source, 1 the destination.
[[nodiscard]] std::unique_ptr<Kernel> make_resize_kernel(Interpolation what, Team team);

/// A sliding window over the spatial dims of [N, C, …]. Every window covers at least one input element.
struct PoolWindow : Window {
  bool average = false;
  bool gives_places = false;   ///< a maximum also tells where the first of the largest elements is, in a contiguous tensor
  bool count_padding = false;  ///< an average divides by the positions within the padded input, else by those within the input
};

/// Operand 0 is the source, 1 the destination, both f32, of the same order (contiguous or channels-last), dense. NaN wins a maximum.
/// Operand 2: the places, int64, for channels-last alone.
[[nodiscard]] std::unique_ptr<Kernel> make_pool_kernel(const TensorDesc& source, const TensorDesc& destination, const PoolWindow& window,
                                                       Team team);

enum class Reduction : uint8_t { maximum, mean, sum };

/// A reduction over all dims after the first two: [N, C, …] of either order to dense N·C results. NaN wins a maximum. Other reductions over
/// trailing dims are expressed as this one over [1, lines, length].
[[nodiscard]] std::unique_ptr<Kernel> make_spatial_kernel(const TensorDesc& source, Reduction reduction, Team team);

/// Longest columns of make_column_kernel(), whose sums are in f32.
inline constexpr int64_t kLongestColumn = 64;
/// A reduction over `length` of dense f32 [outer, length, inner]. NaN wins a maximum.
[[nodiscard]] std::unique_ptr<Kernel> make_column_kernel(const IndexedLines& shape, Reduction reduction, Team team);

/// LogSoftmax of `lines` lines of `length` f32 each, dense; operand 0 is the source, 1 the destination. The sum and the operations after it
/// are in double.
[[nodiscard]] std::unique_ptr<Kernel> make_log_softmax_kernel(int64_t length, int64_t lines, Team team);

/// Lines of at most this length take the library longer to begin than to compute.
inline constexpr int64_t kShortSoftmax = 16;
/// Softmax of `lines` lines of `length` ≤ kShortSoftmax f32 each, dense, many side by side. Operands as for LogSoftmax.
[[nodiscard]] std::unique_ptr<Kernel> make_short_softmax_kernel(int64_t length, int64_t lines, Team team);

/// Softmax of f32 along `length` elements `stride` > 1 apart, dense, columns side by side. Operands as for LogSoftmax.
[[nodiscard]] std::unique_ptr<Kernel> make_column_softmax_kernel(int64_t length, int64_t stride, int64_t elements, Team team);

/// Softmax of `lines` lines of `length` f32 each, dense. `softmax` is the library's, which takes NaN for +∞ and leaves the rest of such a
/// line 0: here all of it is NaN. Operands as for LogSoftmax, not in place.
[[nodiscard]] std::unique_ptr<Kernel> make_guarded_softmax_kernel(std::unique_ptr<Kernel> softmax, int64_t length, int64_t lines,
                                                                  Team team);

/// The steps of an Attention between its two products, over dense f32 scores [batch, heads, queries, keys]: invisible keys get 0, the
/// others softmax(softcap · tanh(scale · score / softcap) + mask).
struct AttentionSoftmax {
  Dims dims;
  float scale = 1, softcap = 0;    ///< 0: no cap
  std::vector<Span> visible;       ///< keys that are visible to each query
  std::optional<TensorDesc> mask;  ///< f32 or bool under `dims`, except that the last dim may be shorter
};
/// Operands: the mask, if there is one, then the scores, in place.
[[nodiscard]] std::unique_ptr<Kernel> make_attention_softmax_kernel(AttentionSoftmax spec, Team team);

// Normalizations of f32 to mean 0 and variance 1. Sums are in double, the same for any number of threads. Operands: source, scale and shift
// (`parameters` f32 each), destination, which may be the source.

/// Dense lines of one length, each normalized separately. A line consists of `runs` equal runs; run r of line i is scaled and shifted by
/// element (i · runs + r) mod `parameters`.
struct LineNormalizationShape {
  int64_t lines = 1, length = 1, runs = 1, parameters = 1;
  float epsilon = 0;
};
[[nodiscard]] std::unique_ptr<Kernel> make_line_normalization_kernel(const LineNormalizationShape& shape, Team team);

/// Dense images [images, positions, channels]: each group of `group` adjacent channels of an image is normalized separately, then scaled
/// and shifted by one number for each channel (`parameters` = channels) or each group.
struct ChannelNormalizationShape {
  int64_t images = 1, positions = 1, channels = 1, group = 1, parameters = 1;
  float epsilon = 0;
};
[[nodiscard]] std::unique_ptr<Kernel> make_channel_normalization_kernel(const ChannelNormalizationShape& shape, Team team);

/// RNN, GRU or LSTM in f32 with their default activations. In a quantized one, states are quantized to 8 bits before each product, and R
/// has integers of 8 bits times a scale for each of its rows.
struct Recurrence {
  enum class Kind : uint8_t { rnn, gru, lstm };
  Kind kind = Kind::lstm;
  int64_t gates = 4, steps = 0, batch = 0, hidden = 0, directions = 1;
  bool reverse = false;              ///< the only direction is the reverse one
  bool batch_first = false;          ///< attribute layout
  bool linear_before_reset = false;  ///< of a GRU
  bool bias = false, lengths = false, initial_h = false, initial_c = false, peepholes = false;
  bool y = false, y_h = false, y_c = false;
  bool quantized = false;
  [[nodiscard]] int64_t columns() const { return gates * hidden; }
};

/// Bytes of packed recurrent weights, all directions.
[[nodiscard]] int64_t packed_bytes(const Recurrence& recurrence);
/// Packs R [directions, gates · hidden, hidden] of any strides. `scales` of a quantized one: [directions, 1, 1 or gates · hidden].
void pack_weights(const Recurrence& recurrence, const Tensor& weights, const Tensor& scales, std::byte* packed);
/// Whether each row of R has integers from -128 to 127 times its scale.
[[nodiscard]] bool has_bytes(const Recurrence& recurrence, const Tensor& weights, const Tensor& scales);

/// Operands, all dense f32: X · Wᵀ as [steps, batch, directions · gates · hidden] (the first two swapped with batch_first), packed R, then
/// those present of B, lengths (int32), initial_h, initial_c, P, Y, Y_h, Y_c. Error{invalid} names the node when a length is out of range.
[[nodiscard]] std::unique_ptr<Kernel> make_recurrent_kernel(const Recurrence& recurrence, const ProgramNode& node, Team team);

/// A convolution of one group to so few outputs that kernels with outputs side by side in a vector leave most of it empty: here channels
/// are side by side. [N, C, …] of at most three spatial dims, dense and channels-last.
struct NarrowConvolution {
  static constexpr int64_t kMostOutputs = 4, kChannels = 8;  ///< channels are a multiple of kChannels
  Dims source, destination;                                  ///< [N, C, …], [N, M, …]
  Dims kernel, strides, dilations, before;
  bool has_bias = false;
};

/// Weights [M, C, …] of any strides as [M, elements of a window, C].
[[nodiscard]] Tensor narrow_weights(const Tensor& weights);

/// Operands: source, narrow_weights(), all finite (padding is multiplied by them), the bias [M] where there is one, destination.
[[nodiscard]] std::unique_ptr<Kernel> make_narrow_convolution_kernel(const NarrowConvolution& spec, Team team);

/// Convolutions of 3 × 3 windows at stride 1 by Winograd's minimal filtering F(2 × 2, 3 × 3) (Lavin and Gray, "Fast Algorithms for
/// Convolutional Neural Networks", CVPR 2016): each tile of 4 × 4 inputs gives 2 × 2 outputs by 16 products instead of 36. The products of
/// all tiles are 16 matrix products, tiles × channels by channels × outputs. Windows of several planes are sums of windows of one plane.
/// Rounding differs from a sum term by term, in proportion to the largest elements of a tile; small whole numbers stay exact.
struct WinogradConvolution {
  int64_t images = 1, groups = 1, channels = 1, outputs = 1;  ///< channels and outputs of one group
  int64_t depth = 1, height = 1, width = 1;                   ///< of the source
  int64_t output_depth = 1, output_height = 1, output_width = 1;
  int64_t window_depth = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0;
  bool has_bias = false, has_residual = false;  ///< the residual has the destination's dims and pixels
  float lowest = -std::numeric_limits<float>::infinity(), highest = std::numeric_limits<float>::infinity();  ///< then clipped to this

  [[nodiscard]] int64_t all_channels() const { return groups * channels; }
  [[nodiscard]] int64_t all_outputs() const { return groups * outputs; }
  /// Number of tiles in one plane of each image, over all images.
  [[nodiscard]] int64_t tiles() const { return images * ((output_height + 1) / 2) * ((output_width + 1) / 2); }
  /// Number of planes of the source that windows reach, padding included.
  [[nodiscard]] int64_t planes() const { return output_depth + window_depth - 1; }
  /// Number of tiles whose planes are computed together: their transformed inputs and outputs stay in the cache between the stages.
  [[nodiscard]] int64_t block(int threads) const;
  /// The 16 products of a block and of one plane of the windows; planes after the first are added to the destination.
  [[nodiscard]] Matmul product(int64_t plane, int threads) const;
};

/// One plane (0 where there are no planes) of weights [groups · outputs, channels, (planes,) 3, 3] of any strides as [16, groups, channels,
/// outputs]: G · g · Gᵀ of each window, in double with one rounding.
[[nodiscard]] Tensor winograd_weights(const Tensor& weights, int64_t groups, int64_t plane);

/// `products`: one for each plane of the windows. Operands: source, the products' packed weights, the bias [groups · outputs] and the
/// residual where there are any, destination. Images are dense channels-last; the destination shares no memory with other operands. Tiles
/// whose results are not finite are computed again term by term, with the weights from `plain_weights`, so that NaN and infinities reach
/// the same outputs as in a direct convolution.
[[nodiscard]] std::unique_ptr<Kernel> make_winograd_kernel(const WinogradConvolution& shape,
                                                           std::vector<std::unique_ptr<Primitive>> products,
                                                           std::function<Tensor()> plain_weights, Team team);

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

/// A convolution of 8-bit integers over [N, C, …] with at most three spatial dims; source and destination dense channels-last. Weights [M,
/// C/g, …] are packed in panels, group by group, with depth over taps, then channels. Weights of a depthwise convolution (one channel in
/// and out per group) are plain [taps][channels].
struct IntegerConvolution {
  Dims source, destination;  ///< [N, C, …], [N, M, …]
  int64_t groups = 1;
  Dims kernel, strides, dilations, before;
};
[[nodiscard]] bool is_depthwise(const IntegerConvolution& convolution);
[[nodiscard]] int64_t packed_bytes(const IntegerConvolution& convolution);
/// Packs weights of the dims above, of any strides.
void pack_weights(const IntegerConvolution& convolution, const Tensor& weights, std::byte* packed);
[[nodiscard]] std::unique_ptr<Kernel> make_integer_convolution_kernel(const IntegerConvolution& convolution,
                                                                      const IntegerParameters& parameters, Team team);

}  // namespace relayout::exec
