// Convolves by Winograd's filtering: transforms around oneDNN's products, and direct sums where a result is not finite.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr int64_t kTile = 4, kStep = 2, kWindow = 3;  // elements along a dim: of a tile, from one to the next, of a window
constexpr int64_t kMatrices = kTile * kTile;

/// Floats from one of the 16 matrices to the next: one cache line more than they need. At powers of two all would fall into the same sets
/// of the cache.
int64_t matrix_stride(int64_t rows, int64_t columns) {
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  return (whole_lines(rows * columns * kFloat) + kLineBytes) / kFloat;
}

/// The first `rows` rows of 16 matrices of `all` rows, in which the columns of all groups are side by side.
TensorDesc matrices(int64_t rows, int64_t all, int64_t groups, int64_t columns) {
  const int64_t row = groups * columns, stride = matrix_stride(all, row);
  if (groups == 1) return {DataType::float32, {kMatrices, rows, columns}, {stride, columns, 1}};
  return {DataType::float32, {kMatrices, groups, rows, columns}, {stride, columns, row, 1}};
}

/// Weights of each of these matrices.
Dims weights_dims(int64_t groups, int64_t channels, int64_t outputs) {
  return groups == 1 ? Dims{kMatrices, channels, outputs} : Dims{kMatrices, groups, channels, outputs};
}

int64_t matrices_bytes(int64_t stride) {
  return kMatrices * stride * static_cast<int64_t>(sizeof(float));
}

struct Four {
  float a, b, c, d;
};

/// Bᵀ · x for one line of a tile.
[[gnu::always_inline]] inline Four spread(float a, float b, float c, float d) {
  return {a - c, b + c, c - b, b - d};
}

/// Transforms a tile, one channel after the other: Bᵀ · x · B, element k of channel c at out[k · stride + c].
RELAYOUT_VECTORIZE void transform_input(const std::array<const float*, kMatrices>& in, float* out, int64_t stride, int64_t channels) {
  const auto [x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15] = in;
  RELAYOUT_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const Four first = spread(x0[c], x1[c], x2[c], x3[c]), second = spread(x4[c], x5[c], x6[c], x7[c]);
    const Four third = spread(x8[c], x9[c], x10[c], x11[c]), fourth = spread(x12[c], x13[c], x14[c], x15[c]);
    const Four a = spread(first.a, second.a, third.a, fourth.a), b = spread(first.b, second.b, third.b, fourth.b);
    const Four e = spread(first.c, second.c, third.c, fourth.c), f = spread(first.d, second.d, third.d, fourth.d);
    float* const to = out + c;
    to[0] = a.a, to[stride] = b.a, to[2 * stride] = e.a, to[3 * stride] = f.a;
    to[4 * stride] = a.b, to[5 * stride] = b.b, to[6 * stride] = e.b, to[7 * stride] = f.b;
    to[8 * stride] = a.c, to[9 * stride] = b.c, to[10 * stride] = e.c, to[11 * stride] = f.c;
    to[12 * stride] = a.d, to[13 * stride] = b.d, to[14 * stride] = e.d, to[15 * stride] = f.d;
  }
}

struct Two {
  float a, b;
};

/// Aᵀ · m for one line of a tile.
[[gnu::always_inline]] inline Two gather(float a, float b, float c, float d) {
  return {a + b + c, b - c - d};
}

/// Addresses of the four outputs of a tile, or of memory to be discarded for those beyond the destination; likewise for the residual.
struct OutputTile {
  std::array<float*, kStep * kStep> to{};
  std::array<const float*, kStep * kStep> residual{};
};

/// Operations on sums before they are stored.
struct Finish {
  const float* bias;
  float lowest, highest;
  [[gnu::always_inline]] float operator()(float x) const {
    const float above = x < lowest ? lowest : x;
    return above > highest ? highest : above;
  }
};

/// Stores Aᵀ · m · A of each channel, finished; returns whether a sum is not finite.
template <bool kResidual>
[[gnu::always_inline]] inline bool store_outputs(const float* in, int64_t stride, const OutputTile& tile, const Finish& finish,
                                                 int64_t channels) {
  const auto [y0, y1, y2, y3] = tile.to;
  const auto [r0, r1, r2, r3] = tile.residual;
  const float* const bias = finish.bias;
  int bad = 0;
  RELAYOUT_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const float* const m = in + c;
    const Two a = gather(m[0], m[4 * stride], m[8 * stride], m[12 * stride]);
    const Two b = gather(m[stride], m[5 * stride], m[9 * stride], m[13 * stride]);
    const Two e = gather(m[2 * stride], m[6 * stride], m[10 * stride], m[14 * stride]);
    const Two f = gather(m[3 * stride], m[7 * stride], m[11 * stride], m[15 * stride]);
    Two top = gather(a.a, b.a, e.a, f.a), bottom = gather(a.b, b.b, e.b, f.b);
    const float all = (top.a + top.b) + (bottom.a + bottom.b);
    bad |= all - all == 0 ? 0 : 1;
    top = {top.a + bias[c], top.b + bias[c]}, bottom = {bottom.a + bias[c], bottom.b + bias[c]};
    if constexpr (kResidual) top = {top.a + r0[c], top.b + r1[c]}, bottom = {bottom.a + r2[c], bottom.b + r3[c]};
    y0[c] = finish(top.a), y1[c] = finish(top.b), y2[c] = finish(bottom.a), y3[c] = finish(bottom.b);
  }
  return bad != 0;
}

RELAYOUT_VECTORIZE bool transform_output(const float* in, int64_t stride, const OutputTile& tile, const Finish& finish, int64_t channels) {
  if (tile.residual[0] == nullptr) return store_outputs<false>(in, stride, tile, finish, channels);
  return store_outputs<true>(in, stride, tile, finish, channels);
}

/// totals[o] += x · weights[o].
RELAYOUT_VECTORIZE void add_products(float* totals, float x, const float* weights, int64_t count) {
  for (int64_t o = 0; o < count; ++o) totals[o] += x * weights[o];
}

/// Position of a tile.
struct Tile {
  int64_t image, row, column;
};

/// Position of an element of an image, with all its channels.
struct Position {
  int64_t image, plane, y, x;
};

Tile tile_at(const WinogradConvolution& shape, int64_t number) {
  const int64_t columns = (shape.output_width + 1) / kStep, rows = (shape.output_height + 1) / kStep;
  return {number / (columns * rows), number / columns % rows, number % columns};
}

/// Position of output i of a tile.
Position output_position(const Tile& tile, int64_t plane, int64_t i) {
  return {tile.image, plane, tile.row * kStep + i / kStep, tile.column * kStep + i % kStep};
}

/// The source, the residual and the destination of a convolution, addressed by tiles.
struct TiledImages {
  WinogradConvolution shape;
  std::vector<float> zeros;  ///< for padding, absent biases and residuals beyond the destination
  const float *source = nullptr, *residual = nullptr;
  float* destination = nullptr;

  /// Channels of an element of the source, zeros where it is padding.
  [[nodiscard]] const float* source_at(const Position& at) const {
    if (at.plane < 0 || at.plane >= shape.depth || at.y < 0 || at.y >= shape.height || at.x < 0 || at.x >= shape.width) return zeros.data();
    return source + (((at.image * shape.depth + at.plane) * shape.height + at.y) * shape.width + at.x) * shape.all_channels();
  }

  [[nodiscard]] std::array<const float*, kMatrices> input_tile(const Tile& tile, int64_t plane) const {
    const int64_t top = tile.row * kStep - shape.pad_top, left = tile.column * kStep - shape.pad_left;
    std::array<const float*, kMatrices> out{};
    for (int64_t i = 0; i < kMatrices; ++i) out[as_size(i)] = source_at({tile.image, plane, top + i / kTile, left + i % kTile});
    return out;
  }

  [[nodiscard]] OutputTile output_tile(const Tile& tile, int64_t plane, float* beyond) const {
    OutputTile out;
    for (int64_t i = 0; i < kStep * kStep; ++i) {
      const Position at = output_position(tile, plane, i);
      const bool inside = at.y < shape.output_height && at.x < shape.output_width;
      const int64_t row = (at.image * shape.output_depth + at.plane) * shape.output_height + at.y;
      const int64_t offset = (row * shape.output_width + at.x) * shape.all_outputs();
      out.to[as_size(i)] = inside ? destination + offset : beyond;
      if (residual != nullptr) out.residual[as_size(i)] = inside ? residual + offset : zeros.data();
    }
    return out;
  }
};

/// Weights as [elements of a window, channels, outputs].
Tensor window_by_window(const Tensor& weights) {
  Dims order;
  for (std::size_t i = 2; i < weights.dims().size(); ++i) order.push_back(static_cast<int64_t>(i));
  order.insert(order.end(), {1, 0});
  return contiguous(weights.transposed(order));
}

class WinogradKernel : public Kernel {
 public:
  WinogradKernel(const WinogradConvolution& shape, std::vector<std::unique_ptr<Primitive>> products, std::function<Tensor()> plain_weights,
                 Team team)
      : shape_(shape),
        products_(std::move(products)),
        plain_weights_(std::move(plain_weights)),
        team_(team),
        block_(shape.block(team.threads)),
        input_stride_(matrix_stride(block_ * shape.planes(), shape.all_channels())),
        output_stride_(matrix_stride(block_ * shape.output_depth, shape.all_outputs())),
        images_{shape, std::vector<float>(as_size(std::max(shape.all_channels(), shape.all_outputs())))},
        is_bad_(as_size(shape.tiles() * shape.output_depth)) {}

  void bind(std::size_t operand, std::byte* data) override {
    const std::size_t bias = 1 + products_.size(), residual = bias + (shape_.has_bias ? 1 : 0);
    const std::size_t destination = residual + (shape_.has_residual ? 1 : 0);
    auto* const values = reinterpret_cast<float*>(data);
    if (operand == 0) {
      images_.source = values;
    } else if (operand < bias) {
      products_[operand - 1]->bind(Argument::weights, 0, data);
    } else if (operand < residual) {
      bias_ = values;
    } else if (operand < destination) {
      images_.residual = values;
    } else {
      images_.destination = values;
    }
  }

  [[nodiscard]] std::string implementation() const override { return "winograd " + products_.front()->implementation(); }

  [[nodiscard]] int64_t scratchpad_bytes() const override {
    int64_t most = 0;
    for (const auto& product : products_) most = std::max(most, product->scratchpad_bytes());
    return matrices_bytes(input_stride_) + matrices_bytes(output_stride_) + most;
  }
  void bind_scratchpad(std::byte* data) override {
    inputs_ = reinterpret_cast<float*>(data);
    outputs_ = reinterpret_cast<float*>(data + matrices_bytes(input_stride_));
    float* source = inputs_;
    for (const auto& product : products_) {
      product->bind(Argument::source, 0, source);
      product->bind(Argument::destination, 0, outputs_);
      product->bind(Argument::scratchpad, 0, data + matrices_bytes(input_stride_) + matrices_bytes(output_stride_));
      source += block_ * shape_.all_channels();
    }
  }

  void run() override {
    const int64_t tiles = shape_.tiles();
    // The last block begins earlier instead of being shorter: the products are made for blocks of one size.
    for (int64_t done = 0; done < tiles; done += block_) run_block(std::min(done, tiles - block_));
    if (std::ranges::find(is_bad_, 1) != is_bad_.end()) compute_bad_tiles();
  }

 private:
  /// Rows of the matrices are the block's tiles in the first plane, then in the next.
  void run_block(int64_t first) {
    const int64_t channels = shape_.all_channels(), outputs = shape_.all_outputs();
    const int64_t grain = kElementsPerPart / (kMatrices * std::min(channels, outputs)) + 1;
    team_.divide(block_ * shape_.planes(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto tile = images_.input_tile(tile_at(shape_, first + row % block_), row / block_ - shape_.pad_front);
        transform_input(tile, inputs_ + row * channels, input_stride_, channels);
      }
    });
    for (const auto& product : products_) product->execute();
    team_.divide(block_ * shape_.output_depth, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t number = first + row % block_, plane = row / block_;
        // Outputs beyond the destination are written over the tile's first products, each of which has been read by then.
        float* const products = outputs_ + row * outputs;
        const OutputTile tile = images_.output_tile(tile_at(shape_, number), plane, products);
        const bool bad = transform_output(products, output_stride_, tile, finish(), outputs);
        is_bad_[as_size(number * shape_.output_depth + plane)] = bad ? 1 : 0;
      }
    });
  }

  [[nodiscard]] Finish finish() const { return {bias_ == nullptr ? images_.zeros.data() : bias_, shape_.lowest, shape_.highest}; }

  void compute_bad_tiles() {
    const Tensor weights = window_by_window(plain_weights_());
    std::vector<float> totals(as_size(shape_.all_outputs())), beyond(totals.size());
    for (std::size_t number = 0; number < is_bad_.size(); ++number) {
      if (is_bad_[number] == 0) continue;
      const auto plane = static_cast<int64_t>(number) % shape_.output_depth;
      const Tile tile = tile_at(shape_, static_cast<int64_t>(number) / shape_.output_depth);
      const OutputTile out = images_.output_tile(tile, plane, beyond.data());
      for (int64_t i = 0; i < kStep * kStep; ++i) {
        if (out.to[as_size(i)] == beyond.data()) continue;
        add_terms(output_position(tile, plane, i), weights.data<float>(), totals);
        store(totals, out, as_size(i));
      }
    }
  }

  /// Sums of an output before finish().
  void add_terms(const Position& at, const float* weights, std::vector<float>& totals) const {
    std::ranges::fill(totals, 0.0F);
    for (int64_t tap = 0; tap < shape_.window_depth * kWindow * kWindow; ++tap) {
      const float* const from =
          images_.source_at({at.image, at.plane - shape_.pad_front + tap / (kWindow * kWindow),
                             at.y - shape_.pad_top + tap / kWindow % kWindow, at.x - shape_.pad_left + tap % kWindow});
      if (from == images_.zeros.data()) continue;
      const float* row = weights + tap * shape_.channels * shape_.all_outputs();
      for (int64_t c = 0; c < shape_.channels; ++c) {
        for (int64_t group = 0; group < shape_.groups; ++group, row += shape_.outputs) {
          add_products(totals.data() + group * shape_.outputs, from[group * shape_.channels + c], row, shape_.outputs);
        }
      }
    }
  }

  void store(const std::vector<float>& totals, const OutputTile& tile, std::size_t i) const {
    const Finish finished = finish();
    for (std::size_t o = 0; o < totals.size(); ++o) {
      const float sum = totals[o] + finished.bias[o];
      tile.to[i][o] = finished(tile.residual[i] == nullptr ? sum : sum + tile.residual[i][o]);
    }
  }

  WinogradConvolution shape_;
  std::vector<std::unique_ptr<Primitive>> products_;  ///< by plane of the windows
  std::function<Tensor()> plain_weights_;
  Team team_;
  int64_t block_, input_stride_, output_stride_;
  TiledImages images_;
  std::vector<char> is_bad_;  ///< by tile and plane
  const float* bias_ = nullptr;
  float *inputs_ = nullptr, *outputs_ = nullptr;
};

}  // namespace

int64_t WinogradConvolution::block(int threads) const {
  // The size of a core's own cache; more where the weights, which each block reads again, are larger. (Xeon of 2023, 2 MB: 0.8 and 1.6 MB
  // were within 3 % of each other, 3.2 MB up to 1.4 times as slow; 2026-11-26.)
  constexpr int64_t kCached = 3 << 19;
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  const int64_t bytes_per_tile = kMatrices * groups * (channels * planes() + outputs * output_depth) * kFloat;
  const int64_t weights_bytes = kMatrices * groups * window_depth * channels * outputs * kFloat;
  const int64_t most = std::max<int64_t>(std::max(kCached * threads, weights_bytes) / bytes_per_tile, 1);
  const int64_t blocks = (tiles() + most - 1) / most;
  return (tiles() + blocks - 1) / blocks;
}

Matmul WinogradConvolution::product(int64_t plane, int threads) const {
  const int64_t tiles = block(threads), rows = tiles * output_depth;
  Matmul out{matrices(rows, tiles * planes(), groups, channels),
             {DataType::float32, weights_dims(groups, channels, outputs), {}},
             matrices(rows, rows, groups, outputs),
             false,
             true,
             {}};
  out.weights.strides = contiguous_strides(out.weights.dims);
  PostOp sum;
  sum.kind = PostOp::Kind::sum;
  if (plane > 0) out.post_ops.push_back(sum);
  return out;
}

Tensor winograd_weights(const Tensor& weights, int64_t groups, int64_t plane) {
  const Dims& strides = weights.strides();
  const std::size_t rank = strides.size();
  const int64_t outputs = weights.dims()[0] / groups, channels = weights.dims()[1], matrix = weights.dims()[0] * channels;
  const int64_t first = plane * strides[2], down = strides[rank - 2], right = strides[rank - 1];
  Tensor out(DataType::float32, weights_dims(groups, channels, outputs));
  const auto lines = [](double a, double b, double c) { return std::array<double, kTile>{a, (a + b + c) / 2, (a - b + c) / 2, c}; };
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t o = 0; o < groups * outputs; ++o) {
      const float* const window = weights.data<float>() + first + o * strides[0] + c * strides[1];
      std::array<std::array<double, kTile>, kWindow> columns{};
      for (int64_t j = 0; j < kWindow; ++j) {
        const float* const at = window + j * right;
        columns[as_size(j)] = lines(at[0], at[down], at[2 * down]);
      }
      float* const to = out.data<float>() + (o / outputs * channels + c) * outputs + o % outputs;
      for (std::size_t i = 0; i < kTile; ++i) {
        const auto row = lines(columns[0][i], columns[1][i], columns[2][i]);
        for (std::size_t j = 0; j < kTile; ++j) to[static_cast<int64_t>(i * kTile + j) * matrix] = static_cast<float>(row[j]);
      }
    }
  }
  return out;
}

std::unique_ptr<Kernel> make_winograd_kernel(const WinogradConvolution& shape, std::vector<std::unique_ptr<Primitive>> products,
                                             std::function<Tensor()> plain_weights, Team team) {
  return std::make_unique<WinogradKernel>(shape, std::move(products), std::move(plain_weights), team);
}

}  // namespace relayout::exec
