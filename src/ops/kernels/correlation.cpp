// The loops of convolutions over images in double, for Conv, ConvTranspose and the quantized convolutions: one line of results at a time,
// with packed weights, less their zero points, and zeros outside the image.

#include "ops/kernels/correlation.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/product.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Output positions of a panel that are in one line of the last spatial dim.
struct Line {
  Dims index;          ///< of the first
  int64_t column = 0;  ///< of the panel
  int64_t count = 0;
};

std::vector<Line> lines_of(const Dims& dims, int64_t position, int64_t count) {
  std::vector<Line> lines;
  const int64_t width = dims.back();
  for (int64_t done = 0; done < count;) {
    Line line;
    line.index.resize(dims.size());
    int64_t rest = position + done;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      line.index[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    line.column = done;
    line.count = std::min(count - done, width - line.index.back());
    done += line.count;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The inputs of one tap for one line, with zeros outside the image.
void load_line(const Correlation& correlation, const Tap& tap, const Line& line, const std::byte* channel, double* out) {
  const std::size_t last = correlation.output_dims.size() - 1;
  int64_t at = 0;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const int64_t position = line.index[axis] * correlation.step[axis] + tap.offset[axis];
    if (position < 0 || position >= correlation.input_dims[axis]) return std::fill_n(out, line.count, 0.0), void();
    at += position * correlation.input_strides[axis];
  }
  const int64_t step = correlation.step[last], width = correlation.input_dims[last];
  const int64_t first = line.index[last] * step + tap.offset[last];
  const auto [begin, end] = steps_within(first, step, width, line.count);
  std::fill(out, out + begin, 0.0);
  std::fill(out + end, out + line.count, 0.0);
  if (begin == end) return;
  const int64_t stride = correlation.input_strides[last];
  at += (first + begin * step) * stride;
  load(correlation.type, channel + at * element_stride(correlation.type), stride * step, end - begin, out + begin);
  if (correlation.zero_point != 0) {
    for (int64_t i = begin; i < end; ++i) out[i] -= correlation.zero_point;
  }
}

}  // namespace

std::vector<double> pack_weights(const CorrelationWeights& weights, const std::vector<Tap>& taps) {
  const auto tap_count = static_cast<int64_t>(taps.size());
  const int64_t depth = weights.channels * tap_count;
  std::vector<double> packed(as_size(weights.rows * depth));
  std::vector<double> channels(as_size(weights.channels));
  const int64_t size = element_stride(weights.type);
  bool in_order = weights.channel_stride == tap_count;
  for (int64_t t = 0; t < tap_count; ++t) in_order = in_order && element_at(taps, t).weight == t;
  for (int64_t row = 0; row < weights.rows; ++row) {
    double* const to = packed.data() + row * depth;
    const std::byte* const from = weights.data + row * weights.row_stride * size;
    if (in_order) {
      load(weights.type, from, 1, depth, to);
    } else {
      for (int64_t t = 0; t < tap_count; ++t) {
        load(weights.type, from + element_at(taps, t).weight * size, weights.channel_stride, weights.channels, channels.data());
        for (int64_t c = 0; c < weights.channels; ++c) to[c * tap_count + t] = element_at(channels, c);
      }
    }
    if (!weights.zero_point) continue;
    const double zero = weights.zero_point(row);
    for (int64_t k = 0; k < depth; ++k) to[k] -= zero;
  }
  return packed;
}

void correlate(int threads, const Correlation& correlation, const std::vector<double>& weights, int64_t rows, int64_t channels,
               const std::byte* x, const StoreResults& store_results) {
  const auto tap_count = static_cast<int64_t>(correlation.taps.size());
  const int64_t depth = channels * tap_count;
  const int64_t positions = element_count(correlation.output_dims);
  const int64_t channel_bytes = correlation.channel_stride * element_stride(correlation.type);
  const auto load_rows = [&](int64_t row, int64_t, int64_t k, int64_t, double*, int64_t& stride) {
    stride = depth;
    return weights.data() + row * depth + k;
  };
  const auto load_panel = [&](int64_t k, int64_t count, int64_t column, int64_t columns, double* panel) {
    const std::vector<Line> lines = lines_of(correlation.output_dims, column, columns);
    for (int64_t i = 0; i < count; ++i) {
      const Tap& tap = element_at(correlation.taps, (k + i) % tap_count);
      const std::byte* const channel = x + (k + i) / tap_count * channel_bytes;
      for (const Line& line : lines) load_line(correlation, tap, line, channel, panel + i * ProductBlock::kColumns + line.column);
    }
  };
  const auto store_row = [&](int64_t row, int64_t column, int64_t columns, const double* values) {
    store_results(row, column, columns, values);
  };
  const double work = static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(positions);
  multiply_all<double>(threads_for(work, threads), rows, depth, positions, load_rows, load_panel, store_row);
}

}  // namespace relayout
