// Resizes images: computes the source positions of each mode and interpolates between them.

#include "ops/kernels/resize.h"

#include <numeric>

#include "base/positions.h"
#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
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

/// Resampling of one dim. `scale` is the given factor, or output over input where sizes are given.
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

/// Operands of the opset; an empty tensor counts as absent.
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

/// Output sizes from the given sizes, under the policy for the aspect ratio.
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

/// The plan of the resampling, or nothing when an operand's contents are not known yet.
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
    // Output sizes ignore the roi, as in ONNX's own shape inference and other runtimes. The product is computed in floats (ONNX's shape
    // inference): 0.7 · 10 is 7, although 0.7f is less than 0.7.
    axis.out = checked_size(call, std::floor(double{static_cast<float>(axis.in) * static_cast<float>(scales[i])}));
  }
  return plan;
}

/// The position of output position x in the input, computed in `Real`. Only half_pixel_symmetric knows of the output's size before
/// truncation to an integer.
template <class Real>
Real source_coordinate(Coordinates mode, const Axis& axis, int64_t position) {
  constexpr Real kHalf = 0.5;
  const auto x = static_cast<Real>(position), in = static_cast<Real>(axis.in), out = static_cast<Real>(axis.out);
  const auto scale = static_cast<Real>(axis.scale), begin = static_cast<Real>(axis.roi_begin), end = static_cast<Real>(axis.roi_end);
  switch (mode) {
    case Coordinates::half_pixel:
      return (x + kHalf) / scale - kHalf;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - out / (scale * in)) + (x + kHalf) / scale - kHalf;
    case Coordinates::pytorch_half_pixel:
      return axis.out > 1 ? (x + kHalf) / scale - kHalf : 0;
    case Coordinates::align_corners:
      return axis.out > 1 ? x * (in - 1) / (out - 1) : 0;
    case Coordinates::asymmetric:
      return x / scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + kHalf) / scale;
    case Coordinates::tf_crop_and_resize:
      if (axis.out <= 1) return kHalf * (begin + end) * (in - 1);
      return begin * (in - 1) + x * (end - begin) * (in - 1) / (out - 1);
  }
  return x;
}

/// As other runtimes do, in f32 where positions are exact in it: scales such as 1.3 are meant as decimal, and 6.5 / 1.3 is 5.
double nearest_coordinate(Coordinates mode, const Axis& axis, int64_t position) {
  constexpr int64_t kExact = int64_t{1} << 20;
  const bool is_exact = std::max(axis.in, axis.out) < kExact;
  return is_exact ? double{source_coordinate<float>(mode, axis, position)} : source_coordinate<double>(mode, axis, position);
}

/// A dim of scale 1 is not resampled, whatever the coordinates: tf_half_pixel_for_nn would move batch and channels.
bool is_identity(const Axis& axis) {
  const bool whole = axis.roi_begin == 0 && axis.roi_end == 1;
  return axis.in == axis.out && axis.scale == 1 && whole;
}

using Rounding = double (*)(double);

/// Resize 10 names no rounding: a dim that shrinks rounds up, as ONNX's own test of that version and ONNX Runtime do.
Rounding nearest_rounding(const OpCall& call, const Axis& axis) {
  const bool early = call.opset < kModesOpset || call.node.op_type() == "Upsample";
  const bool shrinks = axis.scale < 1 && call.node.op_type() == "Resize";
  const std::string mode = early ? (shrinks ? "ceil" : "floor") : call.attributes.text("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return [](double coordinate) { return std::ceil(coordinate - 0.5); };
  if (mode == "round_prefer_ceil") return [](double coordinate) { return std::floor(coordinate + 0.5); };
  if (mode == "floor") return [](double coordinate) { return std::floor(coordinate); };
  if (mode == "ceil") return [](double coordinate) { return std::ceil(coordinate); };
  reject(call, "nearest_mode is not known");
}

/// The input positions that the outputs along one dim copy.
std::vector<int64_t> nearest_positions(const ResizePlan& plan, const Axis& axis, Rounding rounding) {
  const bool stays = is_identity(axis);
  std::vector<int64_t> positions;
  positions.reserve(as_size(axis.out));
  for (int64_t p = 0; p < axis.out; ++p) {
    const double nearest = stays ? static_cast<double>(p) : rounding(nearest_coordinate(plan.coordinates, axis, p));
    positions.push_back(static_cast<int64_t>(std::clamp(nearest, 0.0, static_cast<double>(axis.in - 1))));
  }
  return positions;
}

struct Filter {
  bool cubic = false, antialias = false, exclude_outside = false;
  double a = -0.75;
};

Filter filter_of(const OpCall& call, const ResizePlan& plan) {
  return {plan.mode == "cubic", call.attributes.integer("antialias", 0) != 0, call.attributes.integer("exclude_outside", 0) != 0,
          double{call.attributes.real("cubic_coeff_a", -0.75F)}};
}

/// Inputs around each output's coordinate, an even number of them. Of two neighbours the left one counts as nearest; an antialiasing filter
/// is stretched by 1 / scale.
ResizeTaps taps_of(const ResizePlan& plan, const Filter& filter, const Axis& axis) {
  const double stretch = filter.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = std::ceil((filter.cubic ? 2 : 1) / stretch);  // at most a few lengths of the input, as there is an output
  const double limit = static_cast<double>(axis.in) + 1;             // farther out there is only the edge
  const bool normalizes = filter.antialias || filter.exclude_outside;
  ResizeTaps taps{axis.in, axis.out, static_cast<int64_t>(2 * reach), {}, {}};
  taps.at.assign(as_size(taps.count * axis.out), axis.in);
  taps.weights.assign(taps.at.size(), 0.0);
  std::vector<double> weights(as_size(taps.count));
  for (int64_t p = 0; p < axis.out; ++p) {
    const double coordinate = std::clamp(source_coordinate<double>(plan.coordinates, axis, p), -limit, 2 * limit);
    const auto first = static_cast<int64_t>(std::ceil(coordinate) - reach);
    double sum = 0;
    for (int64_t t = 0; t < taps.count; ++t) {
      const double distance = (static_cast<double>(first + t) - coordinate) * stretch;
      double weight = filter.cubic ? cubic_weight(filter.a, distance) : std::max(0.0, 1 - std::abs(distance));
      if (filter.exclude_outside && (first + t < 0 || first + t >= axis.in)) weight = 0;
      element_at(weights, t) = weight;
      sum += weight;
    }
    for (int64_t t = 0; t < taps.count; ++t) {
      const double weight = element_at(weights, t) / (normalizes && sum != 0 ? sum : 1);
      if (weight == 0) continue;
      const auto place = as_size(t * axis.out + p);
      taps.at[place] = std::clamp<int64_t>(first + t, 0, axis.in - 1);
      taps.weights[place] = weight;
    }
  }
  return taps;
}

/// out[k] += a · x[k] + b · y[k], one after the other; starts from zeros when `begins`.
RELAYOUT_VECTORIZE void add_two_rows(bool begins, const double* x, double a, const double* y, double b, int64_t count, double* out) {
  if (begins) {
    for (int64_t k = 0; k < count; ++k) out[k] = (0.0 + a * x[k]) + b * y[k];
  } else {
    for (int64_t k = 0; k < count; ++k) out[k] = (out[k] + a * x[k]) + b * y[k];
  }
}

/// As add_two_rows(), with a weight and a position for each element.
RELAYOUT_VECTORIZE void add_two_taps(bool begins, const double* line, const int64_t* at, const double* weights, int64_t count,
                                     double* out) {
  if (begins) {
    for (int64_t p = 0; p < count; ++p) out[p] = (0.0 + weights[p] * line[at[p]]) + weights[p + count] * line[at[p + count]];
  } else {
    for (int64_t p = 0; p < count; ++p) out[p] = (out[p] + weights[p] * line[at[p]]) + weights[p + count] * line[at[p + count]];
  }
}

RELAYOUT_VECTORIZE void round_row(double* row, int64_t count) {
  for (int64_t k = 0; k < count; ++k) row[k] = std::nearbyint(row[k]);
}

/// Resampling of one dim, with `outer` lines outside it and `inner` positions inside it, each of as many elements as are processed at a
/// time.
struct Pass {
  int64_t outer = 1, inner = 1;
  ResizeTaps taps;
};

/// One line of a pass, with `inner` elements inside the dim.
struct Line {
  int64_t inner = 1;
  const ResizeTaps& taps;

  [[nodiscard]] int64_t source_length() const { return taps.in * inner; }
  [[nodiscard]] int64_t result_length() const { return taps.out * inner; }
  [[nodiscard]] int64_t row_length() const { return inner == 1 ? taps.out : inner; }

  /// Computes rows of row_length() at the addresses begin(offset) and calls finish(offset, row). `zeros` are `inner` zeros; where that is
  /// 1, `source` has a zero after its elements.
  template <class Begin, class Finish>
  void run(const double* source, const double* zeros, const Begin& begin, const Finish& finish) const {
    if (inner == 1) {
      double* const row = begin(0);
      for (int64_t t = 0; t < taps.count; t += 2) {
        add_two_taps(t == 0, source, taps.at.data() + t * taps.out, taps.weights.data() + t * taps.out, taps.out, row);
      }
      return finish(0, row);
    }
    const auto input = [&](std::size_t tap) { return taps.at[tap] == taps.in ? zeros : source + taps.at[tap] * inner; };
    for (int64_t p = 0; p < taps.out; ++p) {
      double* const row = begin(p * inner);
      for (int64_t t = 0; t < taps.count; t += 2) {
        const auto here = as_size(t * taps.out + p), next = here + as_size(taps.out);
        add_two_rows(t == 0, input(here), taps.weights[here], input(next), taps.weights[next], inner, row);
      }
      finish(p * inner, row);
    }
  }
};

/// The interpolation of one tensor into another. The dims are in memory order, the outermost first: `blocks` is their product before the
/// first changed one, `tail` the number of elements after the last.
struct Resampling {
  DataType type{};
  int64_t blocks = 1, tail = 1;
  int64_t source_block = 0, result_block = 0;  ///< elements
  std::vector<Pass> passes;                    ///< from the innermost changed dim of the tensor outwards
};

/// Passes over one block, `width` of its tail at a time. Elements are read from `x` and written to `out`, in double between the two;
/// integers are rounded to nearest.
class BlockResampler {
 public:
  BlockResampler(const Resampling& what, int64_t width) : what_(what), width_(width), size_(element_stride(what.type)) {
    for (const Pass& pass : what.passes) {
      const Line line = line_of(pass);
      fit(line_, line.source_length() + 1);
      fit(row_, line.row_length());
      fit(zeros_, line.inner);
    }
  }

  void run(const std::byte* x, std::byte* out) {
    std::vector<double>*source = &first_, *result = &second_;
    for (std::size_t i = 0; i < what_.passes.size(); ++i) {
      const Line line = line_of(what_.passes[i]);
      const int64_t outer = what_.passes[i].outer;
      const bool is_last = i + 1 == what_.passes.size();
      if (!is_last) fit(*result, outer * line.result_length());
      for (int64_t at = 0; at < outer; ++at) {
        const int64_t from = at * line.source_length(), begin = at * line.result_length();
        line.run(
            i == 0 ? loaded(line, x, from) : kept(line, source->data() + from), zeros_.data(),
            [&](int64_t offset) { return is_last ? row_.data() : result->data() + begin + offset; },
            [&](int64_t offset, double* row) {
              if (is_last) put(row, line.row_length(), out, begin + offset);
            });
      }
      std::swap(source, result);
    }
  }

 private:
  static void fit(std::vector<double>& values, int64_t count) {
    if (as_size(count) > values.size()) values.resize(as_size(count), 0.0);
  }
  [[nodiscard]] Line line_of(const Pass& pass) const { return {pass.inner * width_, pass.taps}; }

  /// Contiguous runs of elements: all where the whole tail is processed, else `width` at a time. work(offset among the processed elements,
  /// bytes from the first of them in the tensor, count)
  template <class Work>
  void each_run(int64_t first, int64_t count, const Work& work) const {
    if (width_ == what_.tail) return work(0, first * size_, count);
    for (int64_t i = 0; i < count; i += width_) work(i, (first + i) / width_ * what_.tail * size_, width_);
  }

  const double* loaded(const Line& line, const std::byte* x, int64_t from) {
    each_run(from, line.source_length(),
             [&](int64_t at, int64_t bytes, int64_t count) { load(what_.type, x + bytes, 1, count, line_.data() + at); });
    element_at(line_, line.source_length()) = 0;
    return line_.data();
  }

  /// Elements of an earlier pass, followed by a zero where one is needed.
  const double* kept(const Line& line, const double* values) {
    if (line.inner > 1) return values;
    std::copy_n(values, line.source_length(), line_.data());
    element_at(line_, line.source_length()) = 0;
    return line_.data();
  }

  void put(double* row, int64_t length, std::byte* out, int64_t to) const {
    if (!traits(what_.type).is_float) round_row(row, length);  // the store saturates
    each_run(to, length, [&](int64_t at, int64_t bytes, int64_t count) { store(what_.type, out + bytes, 1, count, row + at); });
  }

  const Resampling& what_;
  int64_t width_, size_;
  std::vector<double> first_, second_, line_, row_, zeros_;
};

/// The dims of a tensor in memory order, the outermost first.
std::vector<int64_t> memory_order(const Tensor& tensor) {
  std::vector<int64_t> order(tensor.dims().size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](int64_t dim) { return element_at(tensor.strides(), dim); });
  return order;
}

/// `order`: the dims of the tensor in memory order.
Resampling resampling_of(const ResizePlan& plan, const Filter& filter, const Tensor& x, const std::vector<int64_t>& order) {
  Resampling out{x.type(), 1, 1, 1, 1, {}};
  const auto is_changed = [&](int64_t dim) { return !is_identity(element_at(plan.axes, dim)); };
  const auto front = std::ranges::find_if(order, is_changed);
  const auto back = std::find_if(order.rbegin(), order.rend(), is_changed).base();
  Dims dims;  // of a block, without its tail
  for (auto dim = order.begin(); dim != order.end(); ++dim) {
    const int64_t size = element_at(plan.axes, *dim).in;
    if (dim < front) out.blocks *= size;
    if (dim >= back) out.tail *= size;
    if (dim >= front && dim < back) dims.push_back(size);
  }
  std::vector<std::size_t> changed;  // positions in `dims`
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (is_changed(front[static_cast<std::ptrdiff_t>(i)])) changed.push_back(i);
  }
  std::ranges::sort(changed, std::greater(), [&](std::size_t i) { return front[static_cast<std::ptrdiff_t>(i)]; });
  out.source_block = element_count(dims) * out.tail;
  for (const std::size_t i : changed) {
    const auto at = dims.begin() + static_cast<std::ptrdiff_t>(i);
    const Axis& axis = element_at(plan.axes, front[static_cast<std::ptrdiff_t>(i)]);
    out.passes.push_back({element_count({dims.begin(), at}), element_count({at + 1, dims.end()}), taps_of(plan, filter, axis)});
    *at = axis.out;
  }
  out.result_block = element_count(dims) * out.tail;
  return out;
}

/// Elements of a tail that are processed at a time: intermediate results then stay in a near cache.
constexpr int64_t kTailWidth = 64;

void interpolate(const OpCall& call, const ResizePlan& plan, const Tensor& x, const Tensor& out) {
  if (std::ranges::all_of(plan.axes, [&](const Axis& axis) { return is_identity(axis); })) return copy_elements(call.threads, out, x);
  const Filter filter = filter_of(call, plan);
  const std::vector<int64_t> order = memory_order(out);
  const Tensor source = contiguous(x.transposed(order));
  const DenseOutput result(out.transposed(order));
  const Resampling what = resampling_of(plan, filter, x, order);
  const int64_t size = element_stride(x.type()), slices = (what.tail + kTailWidth - 1) / kTailWidth, pieces = what.blocks * slices;
  const int64_t tasks = std::clamp<int64_t>(out.element_count() / kParallelElements, 1, std::min<int64_t>(call.threads, pieces));
  parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) {
    std::optional<BlockResampler> whole;
    for (int64_t piece = pieces * task / tasks; piece < pieces * (task + 1) / tasks; ++piece) {
      const int64_t block = piece / slices, from = piece % slices * kTailWidth, width = std::min(kTailWidth, what.tail - from);
      const std::byte* const begin = source.bytes() + (block * what.source_block + from) * size;
      std::byte* const end = result.tensor().bytes() + (block * what.result_block + from) * size;
      if (width < std::min(kTailWidth, what.tail)) {  // the last of a tail
        BlockResampler(what, width).run(begin, end);
        continue;
      }
      if (!whole) whole.emplace(what, width);
      whole->run(begin, end);
    }
  });
  result.finish(call.threads);
}

/// tf_crop_and_resize: outputs whose coordinate is outside the input in any dim have one fixed value.
void fill_outside(const OpCall& call, const ResizePlan& plan, const Tensor& out) {
  Tensor value(out.type(), {});
  store_one(out.type(), value.bytes(), double{call.attributes.real("extrapolation_value", 0)});
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const Axis& axis = plan.axes[i];
    Dims dims = out.dims();
    dims[i] = 1;
    for (int64_t position = 0; position < axis.out; ++position) {
      const double coordinate = source_coordinate<double>(plan.coordinates, axis, position);
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
    std::vector<std::vector<int64_t>> positions;
    for (const Axis& axis : plan.axes) positions.push_back(nearest_positions(plan, axis, nearest_rounding(call, axis)));
    pick_elements(call, x, positions, out);
  } else {
    interpolate(call, plan, x, out);
  }
  if (plan.coordinates == Coordinates::tf_crop_and_resize) fill_outside(call, plan, out);
}

}  // namespace relayout::kernels

namespace relayout {

std::optional<std::vector<ResizeTaps>> interpolation_taps(const OpCall& call, InputInfos inputs, const Dims& dims) {
  const auto plan = kernels::plan_of(call, inputs, dims);
  if (!plan || plan->mode == "nearest" || plan->coordinates == kernels::Coordinates::tf_crop_and_resize) return std::nullopt;
  const kernels::Filter filter = kernels::filter_of(call, *plan);
  std::vector<ResizeTaps> out;
  for (const kernels::Axis& axis : plan->axes) {
    out.push_back(kernels::is_identity(axis) ? ResizeTaps{axis.in, axis.out, 0, {}, {}} : kernels::taps_of(*plan, filter, axis));
  }
  return out;
}

}  // namespace relayout
