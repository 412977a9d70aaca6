// Computes operators whose windows overlap when written, or are off the grid when read.

#include <cmath>

#include "base/positions.h"
#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/convolution.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/product.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Image, block and window of Col2Im; nothing when image_shape or block_shape is not known yet.
struct Folding {
  Dims image;
  Window window;
  Dims blocks;  ///< window positions per dim
};

std::optional<Folding> folding_of(const OpCall& call, InputInfos inputs) {
  const auto image = known_integers(call, tensor_info(call, inputs, 1, {DataType::int64}));
  const auto block = known_integers(call, tensor_info(call, inputs, 2, {DataType::int64}));
  if (!image || !block) return std::nullopt;
  if (image->size() != block->size() || image->empty()) reject(call, "image_shape and block_shape differ in length");
  for (std::size_t i = 0; i < image->size(); ++i) {
    if ((*image)[i] < 0 || (*block)[i] < 1 || (*block)[i] > INT32_MAX) reject(call, "image_shape or block_shape is not positive");
  }
  Folding folding{*image, window_of(call, *image, *block), {}};
  folding.blocks = window_outputs(call, folding.window, *image, false);
  return folding;
}

}  // namespace

Inferred infer_col2im(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  const auto folding = folding_of(call, inputs);
  if (!folding) return std::nullopt;
  const int64_t taps = checked_count(call, folding->window.kernel);
  if (x.dims.size() != 3 || x.dims[1] % taps != 0 || x.dims[2] != checked_count(call, folding->blocks)) {
    reject(call, "dims " + to_string(x.dims) + " are not columns of this image");
  }
  Dims dims{x.dims[0], x.dims[1] / taps};
  dims.insert(dims.end(), folding->image.begin(), folding->image.end());
  return one(call, x.type, std::move(dims));
}

/// Adds values to every `step`th element of lines that are `line` apart.
RELAYOUT_VECTORIZE void add_lines(double* to, int64_t line, int64_t step, const double* from, int64_t from_line, int64_t lines,
                                  int64_t count) {
  for (int64_t i = 0; i < lines; ++i) {
    double* const target = to + i * line;
    const double* const values = from + i * from_line;
    with_step(step, [&](auto stride) { RELAYOUT_INDEPENDENT for (int64_t k = 0; k < count; ++k) target[k * stride] += values[k]; });
  }
}

/// Adds one row of columns, a value per block position, to the image at the positions of tap `k`, by planes of the last two dims.
void add_row(const Folding& folding, const Dims& k, const double* row, double* image) {
  const Window& window = folding.window;
  const std::size_t last = folding.blocks.size() - 1, outer = last == 0 ? 0 : last - 1;
  const auto position_of = [&](std::size_t i, int64_t block) {
    return block * window.strides[i] - window.before[i] + k[i] * window.dilations[i];
  };
  const auto inside = [&](std::size_t i) {
    return steps_within(position_of(i, 0), window.strides[i], folding.image[i], folding.blocks[i]);
  };
  const int64_t width = folding.image[last], columns = folding.blocks[last];
  const Span across = inside(last), down = last == 0 ? Span{0, 1} : inside(outer);
  const int64_t lines = last == 0 ? 1 : folding.blocks[outer], height = last == 0 ? 1 : folding.image[outer];
  const int64_t line = last == 0 ? 0 : window.strides[outer] * width;
  const int64_t first = (last == 0 ? 0 : position_of(outer, down.begin)) * width + position_of(last, across.begin);
  if (across.begin == across.end || down.begin == down.end) return;
  for_each_index(Dims(folding.blocks.begin(), folding.blocks.begin() + static_cast<std::ptrdiff_t>(outer)), [&](const Dims& block) {
    const double* const from = row + down.begin * columns + across.begin;
    row += lines * columns;
    int64_t plane = 0;
    for (std::size_t i = 0; i < outer; ++i) {
      const int64_t position = position_of(i, block[i]);
      if (position < 0 || position >= folding.image[i]) return;
      plane = plane * folding.image[i] + position;
    }
    add_lines(image + plane * height * width + first, line, window.strides[last], from, columns, down.end - down.begin,
              across.end - across.begin);
  });
}

/// Adds the columns of an image back at their positions.
void col2im(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const Folding folding = *folding_of(call, KnownInfos(inputs).get());
  const Dims plane = tail(out.dims()), plane_strides = tail(out.strides());
  const int64_t taps = element_count(folding.window.kernel), channels = out.dims()[1];
  parallel_for(out.dims()[0] * channels, threads_for(static_cast<double>(x.element_count()), call.threads), [&](int64_t task) {
    const int64_t image = task / channels, channel = task % channels;
    std::vector<double> sums(as_size(element_count(folding.image)), 0.0);
    std::vector<double> row(as_size(x.dims()[2]));
    int64_t tap = channel * taps;
    for_each_index(folding.window.kernel, [&](const Dims& k) {
      const int64_t from = image * x.strides()[0] + tap++ * x.strides()[1];
      load(x.type(), x.bytes() + from * element_stride(x.type()), x.strides()[2], x.dims()[2], row.data());
      add_row(folding, k, row.data(), sums.data());
    });
    const Tensor dense(TensorDesc{DataType::float64, plane, contiguous_strides(plane)}, reinterpret_cast<std::byte*>(sums.data()), nullptr);
    map_elements<double, double>(
        1, out.view(plane, plane_strides, image * out.strides()[0] + channel * out.strides()[1]), [](double sum) { return sum; }, dense);
  });
}

namespace {

/// Dims of the tensor before pooling, by the window's attributes.
Dims unpooled_dims(const OpCall& call, const Dims& x) {
  const Dims input = spatial_dims(call, x);
  const Window window = window_of(call, input, {});
  Dims dims{x[0], x[1]};
  for (std::size_t i = 0; i < input.size(); ++i) {
    dims.push_back((input[i] - 1) * window.strides[i] + window.kernel[i] - window.before[i] - window.after[i]);
    if (dims.back() < 0) reject(call, "pads cut more than there is");
  }
  return dims;
}

}  // namespace

Inferred infer_max_unpool(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& indices = tensor_info(call, inputs, 1, {DataType::int64});
  if (indices.dims != x.dims) reject(call, "indices have dims " + to_string(indices.dims));
  Dims dims = unpooled_dims(call, x.dims);
  if (const DatumInfo* shape = optional_tensor_info(call, inputs, 2, {DataType::int64})) {
    const auto given = known_integers(call, *shape);
    if (!given) return std::nullopt;
    if (given->size() != dims.size()) reject(call, "output_shape has " + std::to_string(given->size()) + " entries");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if ((*given)[i] < dims[i]) reject(call, "output_shape " + to_string(*given) + " is smaller than " + to_string(dims));
    }
    dims = *given;
  }
  return one(call, x.type, std::move(dims));
}

/// Indices are positions in the tensor that was pooled; a larger output_shape adds zeros at the end of each dim.
void max_unpool(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &indices = tensor_at(inputs, 1), &out = outputs[0]->tensor;
  fill_zero(out);
  const Dims dims = unpooled_dims(call, x.dims());
  const int64_t count = element_count(dims);
  const bool is_flat = TensorDesc{out.type(), dims, out.strides()} == TensorDesc{out.type(), dims, contiguous_strides(dims)};
  const auto place_of = [&](int64_t index) {
    if (index < 0 || index >= count) reject(call, "index " + std::to_string(index) + " is out of range");
    if (is_flat) return index;
    int64_t to = 0;
    for (std::size_t i = dims.size(); i-- > 0;) {
      to += index % dims[i] * out.strides()[i];
      index /= dims[i];
    }
    return to;
  };
  const StridedLoop loop(x.dims(), {operand(x), operand(indices)});
  with_storage(x.type(), [&]<class T>(const T&) {
    loop.run([&](std::byte* const* data, const int64_t* strides, int64_t length) {
      const auto* const from = reinterpret_cast<const T*>(data[0]);
      const auto* const at = reinterpret_cast<const int64_t*>(data[1]);
      for (int64_t i = 0; i < length; ++i) out.data<T>()[place_of(at[i * strides[1]])] = from[i * strides[0]];
    });
  });
}

namespace {

struct Deformation {
  ConvolutionShape shape;
  int64_t offset_groups = 1;
};

Deformation deformation_of(const OpCall& call, const Dims& x, const Dims& w) {
  if (x.size() != 4) reject(call, "dims " + to_string(x) + " are not [N, C, H, W]");
  Deformation result{convolution_shape(call, x, w), call.attributes.integer("offset_group", 1)};
  if (result.offset_groups < 1 || x[1] % result.offset_groups != 0) reject(call, "offset_group does not divide the channels");
  return result;
}

/// The four inputs around each sampling position, with bilinear weights: per corner one list over positions. An input without weight is
/// read from the zero after the plane.
struct Corners {
  std::array<std::vector<int64_t>, 4> offsets;
  std::array<std::vector<double>, 4> weights;

  explicit Corners(int64_t positions) {
    for (auto& list : offsets) list.reserve(as_size(positions));
    for (auto& list : weights) list.reserve(as_size(positions));
  }

  void add(double y, double x, int64_t height, int64_t width, double factor) {
    const double top = std::floor(y), left = std::floor(x);
    for (std::size_t i = 0; i < 4; ++i) {
      const double row = top + (i < 2 ? 0 : 1), column = left + (i % 2 == 0 ? 0 : 1);
      const bool inside = row >= 0 && row < static_cast<double>(height) && column >= 0 && column < static_cast<double>(width);
      const double weight = inside ? factor * (1 - std::abs(y - row)) * (1 - std::abs(x - column)) : 0;
      offsets[i].push_back(weight != 0 ? static_cast<int64_t>(row) * width + static_cast<int64_t>(column) : height * width);
      weights[i].push_back(weight);
    }
  }
};

/// out[i] = Σ weights[corner][i] · plane[offsets[corner][i]].
RELAYOUT_VECTORIZE void sample(const double* plane, const int64_t* const* offsets, const double* const* weights, int64_t count,
                               double* out) {
  const int64_t *const a = offsets[0], *const b = offsets[1], *const c = offsets[2], *const d = offsets[3];
  const double *const wa = weights[0], *const wb = weights[1], *const wc = weights[2], *const wd = weights[3];
  RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
    out[i] = wa[i] * plane[a[i]] + wb[i] * plane[b[i]] + wc[i] * plane[c[i]] + wd[i] * plane[d[i]];
  }
}

/// Samples of one plane at positions [first, first + count).
void sample(const Corners& corners, const double* plane, int64_t first, int64_t count, double* out) {
  std::array<const int64_t*, 4> offsets;
  std::array<const double*, 4> weights;
  for (std::size_t i = 0; i < 4; ++i) {
    offsets[i] = corners.offsets[i].data() + first;
    weights[i] = corners.weights[i].data() + first;
  }
  sample(plane, offsets.data(), weights.data(), count, out);
}

/// Corners per offset group, tap and output position of one image.
Corners image_corners(const Deformation& deformation, const Tensor& x, const Tensor& offset, const Tensor* mask, int64_t image) {
  const Window& window = deformation.shape.window;
  const int64_t taps = window.taps();
  const Dims positions = tail(deformation.shape.dims);
  Corners all(deformation.offset_groups * taps * element_count(positions));
  const auto value = [&](const Tensor& tensor, int64_t channel, const Dims& at) {
    const int64_t where =
        image * tensor.strides()[0] + channel * tensor.strides()[1] + at[0] * tensor.strides()[2] + at[1] * tensor.strides()[3];
    return load_one<double>(tensor.type(), tensor.bytes() + where * element_stride(tensor.type()));
  };
  for (int64_t group = 0; group < deformation.offset_groups; ++group) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t row = tap / window.kernel[1] * window.dilations[0] - window.before[0];
      const int64_t column = tap % window.kernel[1] * window.dilations[1] - window.before[1];
      for_each_index(positions, [&](const Dims& at) {
        const int64_t channel = group * taps + tap;
        const double y = static_cast<double>(at[0] * window.strides[0] + row) + value(offset, 2 * channel, at);
        const double left = static_cast<double>(at[1] * window.strides[1] + column) + value(offset, 2 * channel + 1, at);
        all.add(y, left, x.dims()[2], x.dims()[3], mask == nullptr ? 1 : value(*mask, channel, at));
      });
    }
  }
  return all;
}

/// Planes of one image, each followed by a zero.
std::vector<double> image_planes(const Tensor& x, int64_t image) {
  const Dims dims{x.dims()[1], x.dims()[2], x.dims()[3]};
  const int64_t plane = dims[1] * dims[2] + 1;
  std::vector<double> planes(as_size(dims[0] * plane), 0.0);
  const Tensor target(TensorDesc{DataType::float64, dims, {plane, dims[2], 1}}, reinterpret_cast<std::byte*>(planes.data()), nullptr);
  map_elements<double, double>(
      1, target, [](double value) { return value; },
      x.view(dims, {x.strides()[1], x.strides()[2], x.strides()[3]}, image * x.strides()[0]));
  return planes;
}

}  // namespace

Inferred infer_deform_conv(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 5);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& w = tensor_info(call, inputs, 1, kRealTypes);
  const DatumInfo& offset = tensor_info(call, inputs, 2, kRealTypes);
  const Deformation deformation = deformation_of(call, x.dims, w.dims);
  const Dims& dims = deformation.shape.dims;
  const int64_t channels = checked_product(call, deformation.offset_groups, checked_count(call, deformation.shape.window.kernel));
  if (offset.dims != Dims{dims[0], 2 * channels, dims[2], dims[3]}) reject(call, "offset has dims " + to_string(offset.dims));
  if (const DatumInfo* bias = optional_tensor_info(call, inputs, 3, kRealTypes); bias != nullptr && bias->dims != Dims{dims[1]}) {
    reject(call, "bias has dims " + to_string(bias->dims));
  }
  if (const DatumInfo* mask = optional_tensor_info(call, inputs, 4, kRealTypes);
      mask != nullptr && mask->dims != Dims{dims[0], channels, dims[2], dims[3]}) {
    reject(call, "mask has dims " + to_string(mask->dims));
  }
  return one(call, x.type, dims);
}

/// A convolution whose taps are shifted, and weighted, per output position.
void deform_conv(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &w = tensor_at(inputs, 1), &out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const Deformation deformation = deformation_of(call, x.dims(), w.dims());
  const int64_t taps = deformation.shape.window.taps(), groups = deformation.shape.groups;
  const int64_t channels = w.dims()[1], rows = w.dims()[0] / groups, depth = channels * taps;
  const int64_t positions = element_count(tail(out.dims())), per_offset_group = x.dims()[1] / deformation.offset_groups;
  const std::vector<double> weights = reals_of(w), bias = present(inputs, 3) ? reals_of(tensor_at(inputs, 3)) : std::vector<double>();
  const ChannelWriter writer(out.type(), tail(out.dims()), tail(out.strides()));
  for (int64_t image = 0; image < x.dims()[0]; ++image) {
    const Corners corners =
        image_corners(deformation, x, tensor_at(inputs, 2), present(inputs, 4) ? &tensor_at(inputs, 4) : nullptr, image);
    const std::vector<double> planes = image_planes(x, image);
    const int64_t plane = x.dims()[2] * x.dims()[3] + 1;
    for (int64_t group = 0; group < groups; ++group) {
      const auto load_rows = [&](int64_t row, int64_t, int64_t k, int64_t, double*, int64_t& stride) {
        stride = depth;
        return weights.data() + (group * rows + row) * depth + k;
      };
      const auto load_panel = [&](int64_t k, int64_t count, int64_t column, int64_t columns, double* panel) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t channel = group * channels + (k + i) / taps;
          const int64_t first = (channel / per_offset_group * taps + (k + i) % taps) * positions + column;
          sample(corners, planes.data() + channel * plane, first, columns, panel + i * ProductBlock::kColumns);
        }
      };
      const auto store_row = [&](int64_t row, int64_t column, int64_t columns, const double* sums) {
        const int64_t channel = group * rows + row;
        std::array<double, ProductBlock::kColumns> values;
        for (int64_t j = 0; j < columns; ++j) {
          element_at(values, j) = sums[j] + (bias.empty() ? 0 : element_at(bias, channel));
        }
        std::byte* const to = out.bytes() + (image * out.strides()[0] + channel * out.strides()[1]) * element_stride(out.type());
        writer.write(to, column, columns, values.data());
      };
      const double work = static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(positions);
      multiply_all<double>(threads_for(work, call.threads), rows, depth, positions, load_rows, load_panel, store_row);
    }
  }
}

}  // namespace relayout::kernels
