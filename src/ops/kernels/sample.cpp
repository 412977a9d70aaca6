// Samples images at computed positions, by interpolation between pixels.

#include <limits>

#include "base/positions.h"
#include "base/threads.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/resize.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

enum class Padding { zeros, border, reflection };
enum class Interpolation { nearest, linear, cubic };

struct Sampling {
  Interpolation interpolation = Interpolation::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

Sampling sampling_of(const OpCall& call) {
  Sampling sampling;
  const std::string mode = call.attributes.text("mode", "linear"), padding = call.attributes.text("padding_mode", "zeros");
  if (mode == "nearest")
    sampling.interpolation = Interpolation::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    sampling.interpolation = Interpolation::cubic;
  else if (mode != "linear" && mode != "bilinear")
    reject(call, "mode is none of linear, nearest, cubic");
  if (padding == "border")
    sampling.padding = Padding::border;
  else if (padding == "reflection")
    sampling.padding = Padding::reflection;
  else if (padding != "zeros")
    reject(call, "padding_mode is none of zeros, border, reflection");
  sampling.align_corners = call.attributes.integer("align_corners", 0) != 0;
  return sampling;
}

/// Mirrors x at both borders until it is between them.
double reflected(double x, double low, double high) {
  const double span = high - low;
  if (!(span > 0)) return low;
  if (x >= low && x <= high) return x;
  const double distance = x < low ? low - x : x - high;
  const double times = std::floor(distance / span), rest = distance - times * span;
  const bool near = std::fmod(times, 2) == 0;
  if (x < low) return near ? low + rest : high - rest;
  return near ? high - rest : low + rest;
}

/// One input position and its weight along one dim.
struct Sample {
  int64_t position = 0;
  double weight = 0;
};

/// The samples of one coordinate, without an allocation; none outside when zeros are padded.
class Samples {
 public:
  void add(Sample sample) { list_[count_++] = sample; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::span<const Sample> all() const { return {list_.data(), count_}; }

 private:
  static constexpr std::size_t kMost = 4;  ///< of a cubic kernel
  std::array<Sample, kMost> list_;
  std::size_t count_ = 0;
};

/// The input position of pixel `i`, after padding.
std::optional<int64_t> pixel(const Sampling& sampling, double i, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  if (i >= 0 && i <= last) return static_cast<int64_t>(i);
  if (sampling.padding == Padding::zeros || std::isnan(i)) return std::nullopt;
  if (sampling.padding == Padding::border) return i < 0 ? 0 : size - 1;
  const double low = sampling.align_corners ? 0 : -0.5, high = sampling.align_corners ? last : last + 0.5;
  return static_cast<int64_t>(std::clamp(reflected(i, low, high), 0.0, last));
}

/// The inputs along one dim for a normalized coordinate in [−1, 1].
Samples samples_at(const Sampling& sampling, double coordinate, int64_t size) {
  const auto length = static_cast<double>(size);
  double x = sampling.align_corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
  if (sampling.interpolation == Interpolation::nearest) x = std::nearbyint(x);
  const double low = sampling.align_corners ? 0 : -0.5, high = sampling.align_corners ? length - 1 : length - 0.5;
  if (x < low || x > high) {
    if (sampling.padding == Padding::border) x = std::clamp(x, 0.0, length - 1);
    if (sampling.padding == Padding::reflection) x = reflected(x, low, high);
  }
  Samples samples;
  const auto add = [&](double position, double weight) {
    if (const auto at = pixel(sampling, position, size)) samples.add({*at, weight});
  };
  const double base = std::floor(x);
  switch (sampling.interpolation) {
    case Interpolation::nearest:
      add(x, 1);
      break;
    case Interpolation::linear:
      add(base, 1 - (x - base));
      add(base + 1, x - base);
      break;
    case Interpolation::cubic:
      for (int i = -1; i <= 2; ++i) add(base + i, cubic_weight(-0.75, x - base - i));
      break;
  }
  return samples;
}

/// An offset into the input and the product of the weights over all dims.
struct WeightedOffset {
  int64_t offset = 0;
  double weight = 1;
};

/// Appends the weighted offsets of one position, given the samples per dim.
void combine(std::span<const Samples> samples, std::span<const int64_t> strides, std::vector<WeightedOffset>& all) {
  const std::size_t first = all.size();
  all.push_back({0, 1});
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::span<const Sample> each = samples[i].all();
    const std::size_t before = all.size() - first;
    all.resize(first + before * each.size());
    for (std::size_t j = each.empty() ? 0 : before; j-- > 0;) {  // backwards, so that nothing is overwritten before it is read
      const WeightedOffset one = all[first + j];
      for (std::size_t k = each.size(); k-- > 0;) {
        all[first + j * each.size() + k] = {one.offset + each[k].position * strides[i], one.weight * each[k].weight};
      }
    }
  }
}

/// Stores the weighted sums of one position for all channels.
void store_channels(const Tensor& x, int64_t image_offset, const std::vector<WeightedOffset>& inputs, const Tensor& out,
                    int64_t out_offset) {
  const int64_t channels = x.dims()[1], size = element_stride(x.type());
  if (x.type() == DataType::float32 && out.type() == DataType::float32) {
    const float* from = x.data<float>() + image_offset;
    float* to = out.data<float>() + out_offset;
    for (int64_t c = 0; c < channels; ++c, from += x.strides()[1], to += out.strides()[1]) {
      double sum = 0;
      for (const WeightedOffset& input : inputs) sum += input.weight * static_cast<double>(from[input.offset]);
      *to = static_cast<float>(sum);
    }
    return;
  }
  std::array<double, kChunk> sums, values;
  for (int64_t first = 0; first < channels; first += kChunk) {
    const int64_t count = std::min(kChunk, channels - first);
    std::fill_n(sums.begin(), count, 0.0);
    for (const WeightedOffset& input : inputs) {
      load(x.type(), x.bytes() + (image_offset + first * x.strides()[1] + input.offset) * size, x.strides()[1], count, values.data());
      for (std::size_t c = 0; c < as_size(count); ++c) sums[c] += input.weight * values[c];
    }
    store(out.type(), out.bytes() + (out_offset + first * out.strides()[1]) * element_stride(out.type()), out.strides()[1], count,
          sums.data());
  }
}

}  // namespace

Inferred infer_grid_sample(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  const DatumInfo& grid = tensor_info(call, inputs, 1, kRealTypes);
  (void)sampling_of(call);
  const auto rank = static_cast<int64_t>(x.dims.size()) - 2;
  if (rank < 1 || grid.dims.size() != x.dims.size() || grid.dims.back() != rank || grid.dims[0] != x.dims[0]) {
    reject(call, "a grid of dims " + to_string(grid.dims) + " for an input of dims " + to_string(x.dims));
  }
  Dims dims{x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  for (const int64_t size : tail(x.dims)) {
    if (size == 0 && checked_count(call, dims) != 0) reject(call, "nothing to sample from");
  }
  return one(call, x.type, std::move(dims));
}

/// The grid holds positions in the order x, y, z: the last dim first.
void grid_sample(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &grid = tensor_at(inputs, 1), &out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const Sampling sampling = sampling_of(call);
  const Dims sizes = tail(x.dims()), strides = tail(x.strides()), out_dims = tail(out.dims()), out_strides = tail(out.strides());
  const Dims grid_strides(grid.strides().begin() + 1, grid.strides().end() - 1);
  const std::size_t rank = sizes.size();
  parallel_for(out.dims()[0], call.threads, [&](int64_t n) {
    std::vector<double> coordinates(rank);
    std::vector<Samples> samples(rank);
    std::vector<WeightedOffset> inputs_of_one;
    for_each_index(out_dims, [&](const Dims& index) {
      const std::byte* const at = grid.bytes() + (n * grid.strides()[0] + offset_of(index, grid_strides)) * element_stride(grid.type());
      load(grid.type(), at, grid.strides().back(), static_cast<int64_t>(rank), coordinates.data());
      for (std::size_t i = 0; i < rank; ++i) samples[i] = samples_at(sampling, coordinates[rank - 1 - i], sizes[i]);
      inputs_of_one.clear();
      combine(samples, strides, inputs_of_one);
      store_channels(x, n * x.strides()[0], inputs_of_one, out, n * out.strides()[0] + offset_of(index, out_strides));
    });
  });
}

Inferred infer_affine_grid(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& theta = tensor_info(call, inputs, 0, kRealTypes);
  const auto size = known_integers(call, tensor_info(call, inputs, 1, {DataType::int64}));
  if (!size) return std::nullopt;
  const auto rank = static_cast<int64_t>(size->size()) - 2;
  if ((rank != 2 && rank != 3) || theta.dims != Dims{(*size)[0], rank, rank + 1}) {
    reject(call, "theta of dims " + to_string(theta.dims) + " for a size of " + to_string(*size));
  }
  Dims dims{(*size)[0]};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.push_back(rank);
  return one(call, theta.type, std::move(dims));
}

/// theta · (x, y, z, 1) for the centers (or, with align_corners, the corners) of a grid over [−1, 1].
void affine_grid(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& theta = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const bool align = call.attributes.integer("align_corners", 0) != 0;
  const std::size_t rank = out.dims().size() - 2;
  const std::vector<double> factors = reals_of(theta);
  const auto coordinate = [&](int64_t i, int64_t size) {
    const auto position = static_cast<double>(i), length = static_cast<double>(size);
    if (align) return size == 1 ? -1 : -1 + 2 * position / (length - 1);
    return (2 * position + 1) / length - 1;
  };
  for_each_index(Dims(out.dims().begin(), out.dims().end() - 1), [&](const Dims& index) {
    const double* row = factors.data() + index[0] * static_cast<int64_t>(rank * (rank + 1));
    const int64_t at = offset_of(index, out.strides());
    for (std::size_t k = 0; k < rank; ++k, row += rank + 1) {
      double sum = row[rank];
      for (std::size_t i = 0; i < rank; ++i) sum += row[i] * coordinate(index[rank - i], out.dims()[rank - i]);
      store_one(out.type(), out.bytes() + (at + static_cast<int64_t>(k) * out.strides().back()) * element_stride(out.type()), sum);
    }
  });
}

namespace {

int64_t pooled_size(const OpCall& call, std::string_view name) {
  const int64_t size = call.attributes.integer(name, 1);
  if (size < 1 || size > INT32_MAX) reject(call, std::string(name) + " is " + std::to_string(size));
  return size;
}

/// The bins of a region of interest and the samples of each bin, in one dim.
struct RoiAxis {
  double start = 0, bin = 0;
  int64_t samples = 0, size = 0;
  /// The position of sample `s` of bin `b`.
  [[nodiscard]] double at(int64_t b, int64_t s) const {
    return start + static_cast<double>(b) * bin + (static_cast<double>(s) + 0.5) * bin / static_cast<double>(samples);
  }
};

RoiAxis roi_axis(const OpCall& call, double begin, double end, int64_t bins, int64_t size, bool half_pixel) {
  const double scale = call.attributes.real("spatial_scale", 1), offset = half_pixel ? 0.5 : 0;
  double extent = (end - begin) * scale;
  if (!half_pixel) extent = std::max(extent, 1.0);  // as before opset 16
  const int64_t ratio = call.attributes.integer("sampling_ratio", 0);
  const double bin = extent / static_cast<double>(bins);
  constexpr double kLimit = 1 << 20;
  if (!(std::ceil(bin) < kLimit) || ratio > static_cast<int64_t>(kLimit)) reject(call, "a region is too large");
  return {begin * scale - offset, bin, ratio > 0 ? ratio : static_cast<int64_t>(std::max(std::ceil(bin), 0.0)), size};
}

/// The two inputs around a position; nothing when it is more than one element outside.
Samples roi_samples(double x, int64_t size) {
  Samples samples;
  if (!(x >= -1 && x <= static_cast<double>(size))) return samples;
  x = std::max(x, 0.0);
  const auto low = static_cast<int64_t>(x);
  const bool is_last = low >= size - 1;
  const double rest = is_last ? 0 : x - static_cast<double>(low);
  samples.add({is_last ? size - 1 : low, 1 - rest});
  samples.add({is_last ? size - 1 : low + 1, rest});
  return samples;
}

}  // namespace

Inferred infer_roi_align(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& rois = tensor_info(call, inputs, 1, kRealTypes);
  const DatumInfo& images = tensor_info(call, inputs, 2, {DataType::int64});
  if (x.dims.size() != 4 || rois.dims.size() != 2 || rois.dims[1] != 4 || images.dims != Dims{rois.dims[0]}) {
    reject(call, "operands of dims " + to_string(x.dims) + ", " + to_string(rois.dims) + " and " + to_string(images.dims) + " do not fit");
  }
  return one(call, x.type, {rois.dims[0], x.dims[1], pooled_size(call, "output_height"), pooled_size(call, "output_width")});
}

/// Mean (or largest weighted corner) of samples in each bin of each region.
void roi_align(const OpCall& call, InputData inputs, OutputData outputs) {
  constexpr int64_t kHalfPixelOpset = 16;
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const std::string mode = call.attributes.text("mode", "avg");
  if (mode != "avg" && mode != "max") reject(call, "mode is neither avg nor max");
  const std::string coordinates =
      call.attributes.text("coordinate_transformation_mode", call.opset < kHalfPixelOpset ? "output_half_pixel" : "half_pixel");
  const bool half_pixel = coordinates == "half_pixel";
  const std::vector<double> rois = reals_of(tensor_at(inputs, 1));
  const std::vector<int64_t> images = integers_of(call, tensor_at(inputs, 2));
  for (const int64_t image : images) {
    if (image < 0 || image >= x.dims()[0]) reject(call, "batch index " + std::to_string(image) + " is out of range");
  }
  const int64_t rows = out.dims()[2], columns = out.dims()[3];
  parallel_for(out.dims()[0], call.threads, [&](int64_t n) {
    const double* const roi = rois.data() + 4 * n;
    const RoiAxis vertical = roi_axis(call, roi[1], roi[3], rows, x.dims()[2], half_pixel);
    const RoiAxis horizontal = roi_axis(call, roi[0], roi[2], columns, x.dims()[3], half_pixel);
    const int64_t image = element_at(images, n) * x.strides()[0];
    const double count = static_cast<double>(std::max<int64_t>(vertical.samples * horizontal.samples, 1));
    const std::array<int64_t, 2> strides{x.strides()[2], x.strides()[3]};
    std::vector<WeightedOffset> corners;
    for_each_index({rows, columns}, [&](const Dims& bin) {
      corners.clear();
      bool outside = false;
      for_each_index({vertical.samples, horizontal.samples}, [&](const Dims& s) {
        const std::array<Samples, 2> both{roi_samples(vertical.at(bin[0], s[0]), vertical.size),
                                          roi_samples(horizontal.at(bin[1], s[1]), horizontal.size)};
        outside = outside || both[0].empty() || both[1].empty();
        combine(both, strides, corners);
      });
      const int64_t to = n * out.strides()[0] + bin[0] * out.strides()[2] + bin[1] * out.strides()[3];
      if (mode == "avg") {
        for (WeightedOffset& corner : corners) corner.weight /= count;
        return store_channels(x, image, corners, out, to);
      }
      for (int64_t c = 0; c < x.dims()[1]; ++c) {
        double largest = outside || corners.empty() ? 0 : -std::numeric_limits<double>::infinity();
        for (const WeightedOffset& corner : corners) {
          const int64_t at = image + c * x.strides()[1] + corner.offset;
          largest = std::max(largest, corner.weight * load_one<double>(x.type(), x.bytes() + at * element_stride(x.type())));
        }
        store_one(out.type(), out.bytes() + (to + c * out.strides()[1]) * element_stride(out.type()), largest);
      }
    });
  });
}

Inferred infer_max_roi_pool(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& rois = tensor_info(call, inputs, 1, kRealTypes);
  const std::vector<int64_t> shape = call.attributes.integers("pooled_shape");
  const bool fits = x.dims.size() == 4 && rois.dims.size() == 2 && rois.dims[1] == 5 && shape.size() == 2 && shape[0] > 0 && shape[1] > 0;
  if (!fits) reject(call, "operands of dims " + to_string(x.dims) + " and " + to_string(rois.dims) + " or pooled_shape do not fit");
  return one(call, x.type, {rois.dims[0], x.dims[1], shape[0], shape[1]});
}

namespace {

/// Begin and end of the bins of one side of a region. Regions are rounded to whole elements, include both ends, and are divided into bins
/// that may overlap (Girshick, Fast R-CNN, 2015).
std::vector<Span> roi_bins(double begin, double end, int64_t bins, int64_t size) {
  const double first = std::round(begin), width = std::max(std::round(end) - first + 1, 1.0) / static_cast<double>(bins);
  const auto clamp = [&](double v) { return v > 0 ? static_cast<int64_t>(std::min(v, static_cast<double>(size))) : 0; };  // NaN becomes 0
  std::vector<Span> spans;
  for (int64_t bin = 0; bin < bins; ++bin) {
    spans.push_back(
        {clamp(std::floor(static_cast<double>(bin) * width) + first), clamp(std::ceil(static_cast<double>(bin + 1) * width) + first)});
  }
  return spans;
}

template <class T>
T larger(T a, T b) {
  return b > a || b != b ? b : a;
}

/// Largest elements of each bin of one plane, `width` wide. First reduces the rows of a bin column by column into `line`. NaN counts as
/// largest; an empty bin gives 0.
template <class T>
void pool_bins(const T* plane, int64_t width, const std::vector<Span>& rows, const std::vector<Span>& columns, T* line, T* out) {
  const int64_t begin = columns.front().begin, end = columns.back().end;
  for (const Span& row : rows) {
    if (row.begin < row.end) std::copy(plane + row.begin * width + begin, plane + row.begin * width + end, line + begin);
    for (int64_t i = row.begin + 1; i < row.end; ++i) {
      const T* const from = plane + i * width;
      for (int64_t j = begin; j < end; ++j) line[j] = larger(line[j], from[j]);
    }
    for (const Span& column : columns) {
      const bool is_empty = row.begin >= row.end || column.begin >= column.end;
      T largest = is_empty ? T{0} : line[column.begin];
      for (int64_t j = column.begin + 1; j < column.end && !is_empty; ++j) largest = larger(largest, line[j]);
      *out++ = largest;
    }
  }
}

}  // namespace

void max_roi_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor x = contiguous(tensor_at(inputs, 0)), &out = outputs[0]->tensor;
  const std::vector<double> rois = reals_of(tensor_at(inputs, 1));
  const double scale = call.attributes.real("spatial_scale", 1);
  const int64_t channels = x.dims()[1], plane = x.dims()[2] * x.dims()[3], bins = out.dims()[2] * out.dims()[3];
  const Dims channel_dims{channels, out.dims()[2], out.dims()[3]}, channel_strides{out.strides()[1], out.strides()[2], out.strides()[3]};
  const auto pool = [&]<class Domain>(Domain, DataType domain) {
    std::vector<Domain> image(as_size(channels * plane)), pooled(as_size(channels * bins)), line(as_size(x.dims()[3]));
    int64_t loaded = -1;
    for (int64_t n = 0; n < out.dims()[0]; ++n) {
      const double* const roi = rois.data() + 5 * n;
      if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x.dims()[0]))) reject(call, "a batch index is out of range");
      if (const auto wanted = static_cast<int64_t>(roi[0]); wanted != std::exchange(loaded, wanted)) {
        load(x.type(), x.bytes() + wanted * channels * plane * element_stride(x.type()), 1, channels * plane, image.data());
      }
      const auto rows = roi_bins(roi[2] * scale, roi[4] * scale, out.dims()[2], x.dims()[2]);
      const auto columns = roi_bins(roi[1] * scale, roi[3] * scale, out.dims()[3], x.dims()[3]);
      for (int64_t c = 0; c < channels; ++c)
        pool_bins(image.data() + c * plane, x.dims()[3], rows, columns, line.data(), pooled.data() + c * bins);
      const Tensor dense(TensorDesc{domain, channel_dims, contiguous_strides(channel_dims)}, reinterpret_cast<std::byte*>(pooled.data()),
                         nullptr);
      map_elements<Domain, Domain>(
          1, out.view(channel_dims, channel_strides, n * out.strides()[0]), [](Domain value) { return value; }, dense);
    }
  };
  if (x.type() == DataType::float64) return pool(double{}, DataType::float64);
  pool(float{}, DataType::float32);
}

}  // namespace relayout::kernels
