#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/convolution.h"
#include "ops/dtypes.h"
#include "ops/kernels.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/strided.h"
#include "ops/window.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

int64_t dot(const Dims& index, const Dims& strides) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
  return sum;
}

Dims tail(const Dims& dims) {
  return {dims.begin() + 2, dims.end()};
}

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

/// Sums the columns that an image was cut into at the places they came from.
void col2im(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const Folding folding = *folding_of(call, KnownInfos(inputs).get());
  const Dims image_strides = contiguous_strides(folding.image);
  Dims plane = tail(out.dims()), plane_strides = tail(out.strides());
  std::vector<double> sums(static_cast<std::size_t>(element_count(folding.image)));
  const int64_t taps = element_count(folding.window.kernel);
  for_each_index({out.dims()[0], out.dims()[1]}, [&](const Dims& at) {
    std::ranges::fill(sums, 0.0);
    int64_t row = at[1] * taps;
    for_each_index(folding.window.kernel, [&](const Dims& k) {
      int64_t column = 0;
      for_each_index(folding.blocks, [&](const Dims& block) {
        const int64_t from = at[0] * x.strides()[0] + row * x.strides()[1] + column++ * x.strides()[2];
        int64_t to = 0;
        for (std::size_t i = 0; i < block.size(); ++i) {
          const int64_t position = block[i] * folding.window.strides[i] - folding.window.before[i] + k[i] * folding.window.dilations[i];
          if (position < 0 || position >= folding.image[i]) return;
          to += position * image_strides[i];
        }
        sums[static_cast<std::size_t>(to)] += load_one<double>(x.type(), x.bytes() + from * element_stride(x.type()));
      });
      ++row;
    });
    const Tensor dense(TensorDesc{DataType::float64, plane, image_strides}, reinterpret_cast<std::byte*>(sums.data()), nullptr);
    map_elements<double, double>(
        1, out.view(plane, plane_strides, at[0] * out.strides()[0] + at[1] * out.strides()[1]), [](double sum) { return sum; }, dense);
  });
}

namespace {

/// What the window that was pooled would give back.
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

/// Indices number the elements of the tensor that was pooled; a larger output_shape adds zeros behind each dim.
void max_unpool(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &indices = tensor_at(inputs, 1), &out = outputs[0]->tensor;
  fill_zero(out);
  const Dims dims = unpooled_dims(call, x.dims());
  const int64_t count = element_count(dims), size = element_stride(x.type());
  for_each_index(x.dims(), [&](const Dims& index) {
    int64_t rest = indices.data<int64_t>()[dot(index, indices.strides())];
    if (rest < 0 || rest >= count) reject(call, "index " + std::to_string(rest) + " is out of range");
    int64_t to = 0;
    for (std::size_t i = dims.size(); i-- > 0;) {
      to += rest % dims[i] * out.strides()[i];
      rest /= dims[i];
    }
    std::copy_n(x.bytes() + dot(index, x.strides()) * size, size, out.bytes() + to * size);
  });
}

namespace {

/// Operands of DeformConv that belong together.
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

/// The up to four inputs around a sampling position, with bilinear weights; outside is zero.
struct Corners {
  std::array<int64_t, 4> offsets{};
  std::array<double, 4> weights{};
};

Corners corners_at(double y, double x, const Tensor& image, double factor) {
  Corners corners;
  const double top = std::floor(y), left = std::floor(x);
  for (std::size_t i = 0; i < 4; ++i) {
    const double row = top + static_cast<double>(i / 2), column = left + static_cast<double>(i % 2);
    const bool inside =
        row >= 0 && row < static_cast<double>(image.dims()[2]) && column >= 0 && column < static_cast<double>(image.dims()[3]);
    if (!inside) continue;
    corners.offsets[i] = static_cast<int64_t>(row) * image.strides()[2] + static_cast<int64_t>(column) * image.strides()[3];
    corners.weights[i] = factor * (1 - std::abs(y - row)) * (1 - std::abs(x - column));
  }
  return corners;
}

/// Per offset group, tap and output position of one image.
std::vector<Corners> image_corners(const Deformation& deformation, const Tensor& x, const Tensor& offset, const Tensor* mask,
                                   int64_t image) {
  const Window& window = deformation.shape.window;
  const int64_t taps = window.taps();
  const Dims positions = tail(deformation.shape.dims);
  std::vector<Corners> all;
  all.reserve(static_cast<std::size_t>(deformation.offset_groups * taps * element_count(positions)));
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
        all.push_back(corners_at(y, left, x, mask == nullptr ? 1 : value(*mask, channel, at)));
      });
    }
  }
  return all;
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

/// A convolution whose taps are moved, and weighted, per output position.
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
    const auto corners = image_corners(deformation, x, tensor_at(inputs, 2), present(inputs, 4) ? &tensor_at(inputs, 4) : nullptr, image);
    for (int64_t group = 0; group < groups; ++group) {
      const auto load_rows = [&](int64_t row, int64_t, int64_t k, int64_t, double*, int64_t& stride) {
        stride = depth;
        return weights.data() + (group * rows + row) * depth + k;
      };
      const auto load_panel = [&](int64_t k, int64_t count, int64_t column, int64_t columns, double* panel) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t channel = group * channels + (k + i) / taps;
          const int64_t first = (channel / per_offset_group * taps + (k + i) % taps) * positions + column;
          const std::byte* const plane = x.bytes() + (image * x.strides()[0] + channel * x.strides()[1]) * element_stride(x.type());
          for (int64_t j = 0; j < columns; ++j) {
            const Corners& each = corners[static_cast<std::size_t>(first + j)];
            double sum = 0;
            for (std::size_t c = 0; c < 4; ++c) {
              if (each.weights[c] != 0)
                sum += each.weights[c] * load_one<double>(x.type(), plane + each.offsets[c] * element_stride(x.type()));
            }
            panel[i * ProductBlock::kColumns + j] = sum;
          }
        }
      };
      const auto store_row = [&](int64_t row, int64_t column, int64_t columns, const double* sums) {
        const int64_t channel = group * rows + row;
        std::array<double, ProductBlock::kColumns> values;
        for (int64_t j = 0; j < columns; ++j) {
          values[static_cast<std::size_t>(j)] = sums[j] + (bias.empty() ? 0 : bias[static_cast<std::size_t>(channel)]);
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
