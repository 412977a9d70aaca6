// Computes convolutions as ONNX defines them, with sums in double, the reference for faster executions.
#include "ops/kernels/convolution.h"

#include <numeric>

#include "base/positions.h"
#include "base/threads.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/product.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Offsets and weight positions of all taps of a window.
std::vector<Tap> window_taps(const Window& window, const Dims& weight_strides) {
  std::vector<Tap> taps;
  for_each_index(window.kernel, [&](const Dims& k) {
    Tap tap;
    for (std::size_t i = 0; i < k.size(); ++i) {
      tap.offset.push_back(k[i] * window.dilations[i] - window.before[i]);
      tap.weight += k[i] * weight_strides[i];
    }
    taps.push_back(std::move(tap));
  });
  return taps;
}

/// The input of a convolution, whose elements are read once per tap: 16-bit floats become f32.
Tensor widened(const Tensor& x) {
  if (!kHalfTypes.has(x.type())) return x;
  const Tensor dense = contiguous(x);
  Tensor out(DataType::float32, dense.dims());
  load(dense.type(), dense.bytes(), 1, dense.element_count(), out.data<float>());
  return out;
}

/// Window and group, checked. Weights are [M, C/g, …], those of a transposed convolution [C, M/g, …].
ConvolutionShape shape_without_dims(const OpCall& call, const Dims& x, const Dims& w, bool transposed) {
  if (w.size() != x.size()) reject(call, "weights of dims " + to_string(w) + " for an input of dims " + to_string(x));
  const Dims input = spatial_dims(call, x);
  const int64_t groups = call.attributes.integer("group", 1);
  const auto channels_fit = [&] { return transposed ? x[1] == w[0] : w[0] % groups == 0 && x[1] / groups == w[1]; };
  if (groups < 1 || x[1] % groups != 0 || !channels_fit()) {
    reject(call, "input " + to_string(x) + ", weights " + to_string(w) + " and group " + std::to_string(groups) + " do not fit");
  }
  for (const int64_t size : tail(w)) {
    if (size < 1) reject(call, "weights have dims " + to_string(w));
  }
  return {window_of(call, input, tail(w)), groups, {}};
}

/// Runs work(i, threads) for every i: in parallel where there are enough, else one after the other with all threads each.
void share_threads(int64_t count, int threads, double work_each, const std::function<void(int64_t, int)>& work) {
  const int useful = threads_for(work_each * static_cast<double>(count), threads);
  if (count >= 2 * int64_t{useful})
    parallel_for(count, useful, [&](int64_t i) { work(i, 1); });
  else {
    for (int64_t i = 0; i < count; ++i) work(i, threads);
  }
}

}  // namespace

ChannelWriter::ChannelWriter(DataType type, const Dims& dims, const Dims& strides) : type_(type), linear_(true) {
  // Dims of size 1 do not matter, whatever their strides.
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    dims_.push_back(dims[i]);
    strides_.push_back(strides[i]);
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    strides_.push_back(1);
  }
  for (std::size_t i = 1; i < dims_.size(); ++i) linear_ = linear_ && strides_[i - 1] == strides_[i] * dims_[i];
}

void ChannelWriter::write(std::byte* channel, int64_t position, int64_t count, const double* values) const {
  const int64_t size = element_stride(type_);
  if (linear_) return store(type_, channel + position * strides_.back() * size, strides_.back(), count, values);
  while (count > 0) {
    int64_t at = 0, rest = position;
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
      at += rest % dims_[axis] * strides_[axis];
      rest /= dims_[axis];
    }
    const int64_t here = std::min(count, dims_.back() - position % dims_.back());
    store(type_, channel + at * size, strides_.back(), here, values);
    position += here;
    values += here;
    count -= here;
  }
}

ConvolutionShape convolution_shape(const OpCall& call, const Dims& x, const Dims& w) {
  ConvolutionShape shape = shape_without_dims(call, x, w, false);
  shape.dims = {x[0], w[0]};
  const Dims outputs = window_outputs(call, shape.window, tail(x), false);
  shape.dims.insert(shape.dims.end(), outputs.begin(), outputs.end());
  return shape;
}

ConvolutionShape transposed_convolution_shape(const OpCall& call, const Dims& x, const Dims& w) {
  ConvolutionShape shape = shape_without_dims(call, x, w, true);
  shape.dims = {x[0], checked_product(call, w[1], shape.groups)};
  const Dims outputs = set_transposed_pads(call, shape.window, tail(x));
  shape.dims.insert(shape.dims.end(), outputs.begin(), outputs.end());
  return shape;
}

void convolve(int threads, const ConvolutionParts& parts) {
  const Tensor &w = parts.w, &out = parts.out;
  if (out.element_count() == 0) return;
  const Tensor x = widened(parts.x);
  const int64_t rows = w.dims()[0] / parts.groups, channels = w.dims()[1];
  const Correlation correlation{x.type(),
                                tail(x.dims()),
                                tail(x.strides()),
                                x.strides()[1],
                                tail(out.dims()),
                                parts.window.strides,
                                window_taps(parts.window, tail(w.strides())),
                                parts.x_zero_point};
  const ChannelWriter writer(out.type(), tail(out.dims()), tail(out.strides()));
  const double work = static_cast<double>(element_count(out.dims())) * static_cast<double>(channels * parts.window.taps()) /
                      static_cast<double>(parts.groups * std::max<int64_t>(x.dims()[0], 1));
  share_threads(parts.groups, threads, work * static_cast<double>(x.dims()[0]), [&](int64_t group, int threads_here) {
    const int64_t first = group * rows;
    CorrelationWeights weights{
        w.type(), w.bytes() + first * w.strides()[0] * element_stride(w.type()), rows, channels, w.strides()[0], w.strides()[1], {}};
    if (parts.w_zero_point) weights.zero_point = [&](int64_t row) { return parts.w_zero_point(first + row); };
    const std::vector<double> packed = pack_weights(weights, correlation.taps);
    for (int64_t image = 0; image < x.dims()[0]; ++image) {
      const std::byte* const from = x.bytes() + (image * x.strides()[0] + group * channels * x.strides()[1]) * element_stride(x.type());
      std::byte* const to = out.bytes() + (image * out.strides()[0] + first * out.strides()[1]) * element_stride(out.type());
      correlate(threads_here, correlation, packed, rows, channels, from,
                [&](int64_t row, int64_t position, int64_t count, const double* sums) {
                  std::array<double, ProductBlock::kColumns> values;
                  std::copy_n(sums, count, values.begin());
                  parts.finish(first + row, count, values.data());
                  writer.write(to + row * out.strides()[1] * element_stride(out.type()), position, count, values.data());
                });
    }
  });
}

}  // namespace relayout

namespace relayout::kernels {
namespace {

std::function<void(int64_t, int64_t, double*)> add_bias(InputData inputs) {
  if (!present(inputs, 2)) return [](int64_t, int64_t, double*) {};
  return [bias = reals_of(tensor_at(inputs, 2))](int64_t channel, int64_t count, double* values) {
    for (int64_t i = 0; i < count; ++i) values[i] += element_at(bias, channel);
  };
}

void check_bias(const OpCall& call, InputInfos inputs, int64_t channels) {
  const DatumInfo* bias = optional_tensor_info(call, inputs, 2, kRealTypes);
  if (bias == nullptr) return;
  require_same_type(call, *inputs[0], *bias);
  if (bias->dims != Dims{channels})
    reject(call, "bias of dims " + to_string(bias->dims) + " for " + std::to_string(channels) + " channels");
}

/// The output positions o ≡ phase (mod stride) of each dim are a convolution of step 1 with the taps whose input position is an integer.
std::vector<Tap> phase_taps(const Window& window, const Dims& phase, const Dims& weight_strides) {
  std::vector<Tap> taps;
  for_each_index(window.kernel, [&](const Dims& k) {
    Tap tap;
    for (std::size_t i = 0; i < k.size(); ++i) {
      const int64_t numerator = phase[i] + window.before[i] - k[i] * window.dilations[i];
      if (numerator % window.strides[i] != 0) return;
      tap.offset.push_back(numerator / window.strides[i]);
      tap.weight += k[i] * weight_strides[i];
    }
    taps.push_back(std::move(tap));
  });
  return taps;
}

}  // namespace

Inferred infer_conv(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const auto [x, w] = two_of_one_type(call, inputs, kRealTypes);
  check_bias(call, inputs, w.dims.empty() ? 0 : w.dims[0]);
  return one(call, x.type, convolution_shape(call, x.dims, w.dims).dims);
}

void conv(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& w = tensor_at(inputs, 1);
  const ConvolutionShape shape = convolution_shape(call, x.dims(), w.dims());
  convolve(call.threads, {x, w, outputs[0]->tensor, shape.window, shape.groups, 0, {}, add_bias(inputs)});
}

Inferred infer_conv_transpose(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const auto [x, w] = two_of_one_type(call, inputs, kRealTypes);
  const ConvolutionShape shape = transposed_convolution_shape(call, x.dims, w.dims);
  check_bias(call, inputs, shape.dims[1]);
  return one(call, x.type, shape.dims);
}

void conv_transpose(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& w = tensor_at(inputs, 1);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const ConvolutionShape shape = transposed_convolution_shape(call, x.dims(), w.dims());
  const int64_t rows = w.dims()[1], channels = w.dims()[0] / shape.groups;
  const auto finish = add_bias(inputs);
  const int64_t x_size = element_stride(x.type()), w_size = element_stride(w.type()), out_size = element_stride(out.type());
  const Dims &strides = shape.window.strides, out_dims = tail(out.dims()), out_strides = tail(out.strides());
  Dims phases = strides;
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i] = std::min(phases[i], out_dims[i]);
  for_each_index(phases, [&](const Dims& phase) {
    Correlation correlation{x.type(),
                            tail(x.dims()),
                            tail(x.strides()),
                            x.strides()[1],
                            {},
                            Dims(phase.size(), 1),
                            phase_taps(shape.window, phase, tail(w.strides())),
                            0};
    Dims sub_strides;
    int64_t origin = 0;
    for (std::size_t i = 0; i < phase.size(); ++i) {
      correlation.output_dims.push_back((out_dims[i] - phase[i] - 1) / strides[i] + 1);
      sub_strides.push_back(out_strides[i] * strides[i]);
      origin += phase[i] * out_strides[i];
    }
    const ChannelWriter writer(out.type(), correlation.output_dims, sub_strides);
    for (int64_t group = 0; group < shape.groups; ++group) {
      const CorrelationWeights weights{
          w.type(), w.bytes() + group * channels * w.strides()[0] * w_size, rows, channels, w.strides()[1], w.strides()[0], {}};
      const std::vector<double> packed = pack_weights(weights, correlation.taps);
      for (int64_t image = 0; image < x.dims()[0]; ++image) {
        const std::byte* const from = x.bytes() + (image * x.strides()[0] + group * channels * x.strides()[1]) * x_size;
        std::byte* const to = out.bytes() + (image * out.strides()[0] + group * rows * out.strides()[1] + origin) * out_size;
        correlate(call.threads, correlation, packed, rows, channels, from,
                  [&](int64_t row, int64_t position, int64_t count, const double* sums) {
                    std::array<double, ProductBlock::kColumns> values;
                    std::copy_n(sums, count, values.begin());
                    finish(group * rows + row, count, values.data());
                    writer.write(to + row * out.strides()[1] * out_size, position, count, values.data());
                  });
      }
    }
  });
}

}  // namespace relayout::kernels

namespace relayout {

// The loops: one line of results at a time, with packed weights, less their zero points, and zeros outside the image.
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
