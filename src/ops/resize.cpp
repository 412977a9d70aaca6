#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "ops/dtypes.h"
#include "ops/kernels.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/pick.h"
#include "ops/strided.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

enum class Coordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};

constexpr int64_t kModesOpset = 11;  ///< Upsample and Resize 10 have no coordinate modes

/// How one dim is resampled. `scale` is the factor given, or output over input where sizes were given.
struct Axis {
  int64_t in = 0, out = 0;
  double scale = 1, roi_begin = 0, roi_end = 1;
};

struct ResizePlan {
  std::vector<Axis> axes;  ///< one per dim
  Coordinates coordinates = Coordinates::asymmetric;
  std::string mode;  ///< nearest, linear, cubic
};

Coordinates coordinates_of(const OpCall& call) {
  if (call.opset < kModesOpset || call.node.op_type() == "Upsample") return Coordinates::asymmetric;
  const std::string name = call.attributes.text("coordinate_transformation_mode", "half_pixel");
  if (name == "half_pixel") return Coordinates::half_pixel;
  if (name == "half_pixel_symmetric") return Coordinates::half_pixel_symmetric;
  if (name == "pytorch_half_pixel") return Coordinates::pytorch_half_pixel;
  if (name == "align_corners") return Coordinates::align_corners;
  if (name == "asymmetric") return Coordinates::asymmetric;
  if (name == "tf_half_pixel_for_nn") return Coordinates::tf_half_pixel_for_nn;
  if (name == "tf_crop_and_resize") return Coordinates::tf_crop_and_resize;
  reject(call, "coordinate_transformation_mode is none of the known ones");
}

std::string interpolation_of(const OpCall& call) {
  std::string mode = call.attributes.text("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";  // names of Upsample 1
  if (mode != "nearest" && mode != "linear" && mode != "cubic") reject(call, "mode is none of nearest, linear, cubic");
  return mode;
}

/// Operands as the opset has them; an empty tensor counts as absent.
struct ResizeOperands {
  const DatumInfo *roi = nullptr, *scales = nullptr, *sizes = nullptr;
};

ResizeOperands operands_of(const OpCall& call, InputInfos inputs) {
  const bool early = call.opset < kModesOpset || call.node.op_type() == "Upsample";
  require_inputs(call, inputs, 1, early ? 2 : 4);
  const auto given = [&](std::size_t index, TypeSet types) -> const DatumInfo* {
    const DatumInfo* info = optional_tensor_info(call, inputs, index, types);
    if (info != nullptr && info->dims.size() != 1)
      reject(call, "input " + std::to_string(index) + " has rank " + std::to_string(info->dims.size()));
    return info == nullptr || info->dims[0] == 0 ? nullptr : info;
  };
  if (early) return {nullptr, given(1, kRealTypes), nullptr};
  return {given(1, kRealTypes), given(2, kRealTypes), given(3, {DataType::int64})};
}

/// Scales of Upsample 7 (attribute scales) and 1 (height_scale, width_scale).
std::vector<double> attribute_scales(const OpCall& call, std::size_t rank) {
  const std::vector<float> scales = call.attributes.reals("scales");
  if (!scales.empty()) return {scales.begin(), scales.end()};
  if (!call.attributes.has("height_scale") || rank != 4) reject(call, "scales are missing");
  return {1, 1, double{call.attributes.real("height_scale", 1)}, double{call.attributes.real("width_scale", 1)}};
}

int64_t checked_size(const OpCall& call, double size) {
  constexpr double kLimit = 0x1p40;
  if (!(size >= 0 && size < kLimit)) reject(call, "a size is out of range");
  return static_cast<int64_t>(size);
}

/// Output sizes from sizes given, under the policy for the aspect ratio.
void apply_sizes(const OpCall& call, const std::vector<int64_t>& sizes, const std::vector<std::size_t>& axes, std::vector<Axis>& plan) {
  const std::string policy = call.attributes.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") reject(call, "keep_aspect_ratio_policy is not known");
  double common = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = plan[axes[i]];
    if (sizes[i] < 0 || (axis.in == 0 && sizes[i] != 0))
      reject(call, "size " + std::to_string(sizes[i]) + " for a dim of " + std::to_string(axis.in));
    const double ratio = axis.in == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    common = i == 0 ? ratio : policy == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
    axis.out = sizes[i];
    axis.scale = ratio;
  }
  if (policy == "stretch") return;
  for (const std::size_t i : axes) {
    plan[i].scale = common;
    plan[i].out = checked_size(call, std::floor(common * static_cast<double>(plan[i].in) + 0.5));
  }
}

/// Everything about the resampling, or nothing when an operand's contents are not known yet.
std::optional<ResizePlan> plan_of(const OpCall& call, InputInfos inputs, const Dims& dims) {
  const ResizeOperands operands = operands_of(call, inputs);
  ResizePlan plan{{}, coordinates_of(call), interpolation_of(call)};
  for (const int64_t dim : dims) plan.axes.push_back({dim, dim, 1, 0, 1});
  for (const DatumInfo* each : {operands.roi, operands.scales, operands.sizes}) {
    if (each != nullptr && each->value == nullptr) return std::nullopt;
  }
  std::vector<int64_t> axis_numbers = call.attributes.integers("axes");
  if (axis_numbers.empty()) {
    axis_numbers.resize(dims.size());
    std::iota(axis_numbers.begin(), axis_numbers.end(), int64_t{0});
  }
  const auto axes = normal_axes(call, axis_numbers, dims.size());
  const auto expect = [&](std::size_t count, std::size_t wanted_count) {
    if (count != wanted_count)
      reject(call, std::to_string(count) + " scales, sizes or roi bounds for " + std::to_string(axes.size()) + " axes");
  };
  const bool crops = plan.coordinates == Coordinates::tf_crop_and_resize;
  if (crops) {
    if (operands.roi == nullptr) reject(call, "tf_crop_and_resize needs a roi");
    const std::vector<double> roi = reals_of(*operands.roi->value);
    expect(roi.size(), 2 * axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      plan.axes[axes[i]].roi_begin = roi[i];
      plan.axes[axes[i]].roi_end = roi[axes.size() + i];
    }
  }
  if (operands.sizes != nullptr) {
    if (operands.scales != nullptr) reject(call, "both scales and sizes are given");
    const std::vector<int64_t> sizes = integers_of(call, *operands.sizes->value);
    expect(sizes.size(), axes.size());
    apply_sizes(call, sizes, axes, plan.axes);
    return plan;
  }
  const std::vector<double> scales = operands.scales != nullptr ? reals_of(*operands.scales->value) : attribute_scales(call, dims.size());
  expect(scales.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = plan.axes[axes[i]];
    if (!(scales[i] > 0) || !std::isfinite(scales[i])) reject(call, "a scale is not positive");
    axis.scale = scales[i];
    // Whatever the roi crops: so has ONNX's own shape inference it, and what runs elsewhere.
    axis.out = checked_size(call, std::floor(static_cast<double>(axis.in) * scales[i]));
  }
  return plan;
}

/// Where output position x lies in the input. `width` is the output's size before it was cut to an integer.
double source_coordinate(Coordinates mode, const Axis& axis, int64_t position) {
  const auto x = static_cast<double>(position), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  const double width = axis.scale * in;
  switch (mode) {
    case Coordinates::half_pixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - out / width) + (x + 0.5) / axis.scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case Coordinates::align_corners:
      return width == 1 || axis.out == 1 ? 0 : x * (in - 1) / (width - 1);
    case Coordinates::asymmetric:
      return x / axis.scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / axis.scale;
    case Coordinates::tf_crop_and_resize:
      if (axis.out <= 1) return 0.5 * (axis.roi_begin + axis.roi_end) * (in - 1);
      return axis.roi_begin * (in - 1) + x * (axis.roi_end - axis.roi_begin) * (in - 1) / (out - 1);
  }
  return x;
}

bool is_identity(const ResizePlan& plan, const Axis& axis) {
  const bool whole = axis.roi_begin == 0 && axis.roi_end == 1;
  return axis.in == axis.out && axis.scale == 1 && whole && plan.coordinates != Coordinates::tf_half_pixel_for_nn;
}

int64_t nearest_position(const OpCall& call, double coordinate, int64_t size) {
  const std::string mode =
      call.opset < kModesOpset || call.node.op_type() == "Upsample" ? "floor" : call.attributes.text("nearest_mode", "round_prefer_floor");
  double position = 0;
  if (mode == "round_prefer_floor")
    position = std::ceil(coordinate - 0.5);
  else if (mode == "round_prefer_ceil")
    position = std::floor(coordinate + 0.5);
  else if (mode == "floor")
    position = std::floor(coordinate);
  else if (mode == "ceil")
    position = std::ceil(coordinate);
  else
    reject(call, "nearest_mode is not known");
  return static_cast<int64_t>(std::clamp(position, 0.0, static_cast<double>(size - 1)));
}

/// The inputs that make up one output: `weights` of the neighbours from `first` on.
struct Neighbours {
  int64_t first = 0;
  std::vector<double> weights;
};

/// Keys' cubic kernel (Cubic convolution interpolation for digital image processing, 1981) with coefficient a.
double cubic_weight(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

struct Filter {
  bool cubic = false, antialias = false, exclude_outside = false;
  double a = -0.75;
};

/// Weights around a coordinate. The neighbour to its left counts as nearest; an antialiasing filter is stretched by 1 / scale.
Neighbours neighbours_of(const Filter& filter, const Axis& axis, double coordinate) {
  const double stretch = filter.antialias ? std::min(axis.scale, 1.0) : 1;
  const double radius = filter.cubic ? 2 : 1;
  const double reach = std::ceil(radius / stretch);  // at most a few lengths of the input, as there is an output
  const double base = std::ceil(coordinate) - 1;
  Neighbours result{static_cast<int64_t>(base - reach + 1), {}};
  double sum = 0;
  for (auto i = static_cast<int64_t>(2 * reach); i > 0; --i) {
    const double distance = (static_cast<double>(result.first) + static_cast<double>(result.weights.size()) - coordinate) * stretch;
    const double weight = filter.cubic ? cubic_weight(filter.a, distance) : std::max(0.0, 1 - std::abs(distance));
    result.weights.push_back(weight);
  }
  for (std::size_t i = 0; i < result.weights.size(); ++i) {
    const int64_t position = result.first + static_cast<int64_t>(i);
    if (filter.exclude_outside && (position < 0 || position >= axis.in)) result.weights[i] = 0;
    sum += result.weights[i];
  }
  if ((filter.antialias || filter.exclude_outside) && sum != 0) {
    for (double& weight : result.weights) weight /= sum;
  }
  return result;
}

/// One dim resampled: source and result are dense, in double, with `inner` elements behind the dim and `outer` before it.
std::vector<double> resample(int threads, const std::vector<double>& source, int64_t outer, int64_t inner, const Axis& axis,
                             const std::vector<Neighbours>& neighbours) {
  std::vector<double> result(static_cast<std::size_t>(outer * axis.out * inner), 0.0);
  const int64_t enough = std::max<int64_t>(static_cast<int64_t>(result.size()) / kParallelElements, 1);
  parallel_for(outer, static_cast<int>(std::min<int64_t>(threads, enough)), [&](int64_t block) {
    const double* const from = source.data() + block * axis.in * inner;
    double* to = result.data() + block * axis.out * inner;
    for (const Neighbours& each : neighbours) {
      for (std::size_t i = 0; i < each.weights.size(); ++i) {
        const double weight = each.weights[i];
        if (weight == 0) continue;
        const double* const row = from + std::clamp<int64_t>(each.first + static_cast<int64_t>(i), 0, axis.in - 1) * inner;
        for (int64_t k = 0; k < inner; ++k) to[k] += weight * row[k];
      }
      to += inner;
    }
  });
  return result;
}

void interpolate(const OpCall& call, const ResizePlan& plan, const Tensor& x, const Tensor& out) {
  const Filter filter{plan.mode == "cubic", call.attributes.integer("antialias", 0) != 0,
                      call.attributes.integer("exclude_outside", 0) != 0, double{call.attributes.real("cubic_coeff_a", -0.75F)}};
  std::vector<double> values = reals_of(x);
  Dims dims = x.dims();
  for (std::size_t i = dims.size(); i-- > 0;) {
    const Axis& axis = plan.axes[i];
    if (is_identity(plan, axis)) continue;
    std::vector<Neighbours> neighbours;
    for (int64_t position = 0; position < axis.out; ++position) {
      const double limit = static_cast<double>(axis.in) + 1;  // farther out the edge is all there is
      neighbours.push_back(neighbours_of(filter, axis, std::clamp(source_coordinate(plan.coordinates, axis, position), -limit, 2 * limit)));
    }
    const auto at = dims.begin() + static_cast<std::ptrdiff_t>(i);
    const int64_t outer = element_count(Dims(dims.begin(), at)), inner = element_count(Dims(at + 1, dims.end()));
    values = resample(call.threads, values, outer, inner, axis, neighbours);
    dims[i] = axis.out;
  }
  const Tensor dense(TensorDesc{DataType::float64, dims, contiguous_strides(dims)}, reinterpret_cast<std::byte*>(values.data()), nullptr);
  const auto write = [&](const auto& f) { map_elements<double, double>(call.threads, out, f, dense); };
  if (traits(out.type()).is_float) return write([](double value) { return value; });
  write([](double value) { return std::nearbyint(value); });  // what leaves the range of integers is held at its bounds
}

/// tf_crop_and_resize: outputs whose coordinate lies outside the input in any dim have one fixed value.
void fill_outside(const OpCall& call, const ResizePlan& plan, const Tensor& out) {
  Tensor value(out.type(), {});
  store_one(out.type(), value.bytes(), double{call.attributes.real("extrapolation_value", 0)});
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const Axis& axis = plan.axes[i];
    Dims dims = out.dims();
    dims[i] = 1;
    for (int64_t position = 0; position < axis.out; ++position) {
      const double coordinate = source_coordinate(plan.coordinates, axis, position);
      if (coordinate >= 0 && coordinate <= static_cast<double>(axis.in - 1)) continue;
      copy_elements(1, out.view(dims, out.strides(), position * out.strides()[i]), value);
    }
  }
}

}  // namespace

Inferred infer_resize(const OpCall& call, InputInfos inputs) {
  const TypeSet types = interpolation_of(call) == "nearest" ? kAllTypes : kNumericTypes;
  const DatumInfo& x = tensor_info(call, inputs, 0, types);
  const auto plan = plan_of(call, inputs, x.dims);
  if (!plan) return std::nullopt;
  Dims dims;
  for (const Axis& axis : plan->axes) dims.push_back(axis.out);
  return one(call, x.type, std::move(dims));
}

void resize(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const ResizePlan plan = *plan_of(call, KnownInfos(inputs).get(), x.dims());
  if (plan.mode == "nearest") {
    std::vector<std::vector<int64_t>> positions(plan.axes.size());
    for (std::size_t i = 0; i < plan.axes.size(); ++i) {
      const Axis& axis = plan.axes[i];
      for (int64_t p = 0; p < axis.out; ++p) {
        const bool stays = is_identity(plan, axis);
        positions[i].push_back(stays ? p : nearest_position(call, source_coordinate(plan.coordinates, axis, p), axis.in));
      }
    }
    pick_elements(call, x, positions, out);
  } else {
    interpolate(call, plan, x, out);
  }
  if (plan.coordinates == Coordinates::tf_crop_and_resize) fill_outside(call, plan, out);
}

}  // namespace relayout::kernels
