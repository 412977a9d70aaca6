// Lowers convolutions to the fastest form that their shapes allow.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/rates.h"
#include "ops/kernels/convolution.h"
#include "ops/kernels/window.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

Convolution spec_of(Lowering& lowering, const ProgramNode& node) {
  const Dims &x = lowering.info(node.inputs[0]).dims, &w = lowering.info(node.inputs[1]).dims;
  Convolution spec;
  spec.transposed = node.op->traits.has(Trait::transposed);
  ConvolutionShape shape = spec.transposed ? transposed_convolution_shape(node.call, x, w) : convolution_shape(node.call, x, w);
  spec.groups = shape.groups;
  spec.strides = std::move(shape.window.strides);
  spec.dilations = std::move(shape.window.dilations);
  spec.pads_begin = std::move(shape.window.before);
  spec.pads_end = std::move(shape.window.after);
  return spec;
}

/// Whether the window covers the input exactly once: every output channel is one sum over the whole input.
bool is_product(Lowering& lowering, const Convolution& spec, const ProgramNode& node) {
  const Dims &x = lowering.info(node.inputs[0]).dims, &w = lowering.info(node.inputs[1]).dims, &y = lowering.info(node.outputs[0]).dims;
  for (std::size_t i = 0; i < spec.pads_begin.size(); ++i) {
    if (spec.pads_begin[i] != 0 || (spec.dilations[i] != 1 && w[i + 2] != 1)) return false;
  }
  return !spec.transposed && spec.groups == 1 && std::equal(x.begin() + 1, x.end(), w.begin() + 1) && element_count(y) == y[0] * y[1];
}

std::optional<ConvolutionRest> rest_of_convolution(Lowering& lowering, const Group& group) {
  ConvolutionRest out;
  const ProgramNode& convolution = group.anchor();
  const bool is_part = !group.downstream.empty();
  std::span<const ProgramNode* const> rest = is_part ? std::span(group.downstream) : std::span(group.nodes).subspan(group.summed);
  ValueId through = is_part ? rest.front()->input(0) : group.nodes[group.summed - 1]->output(0);
  auto affine = rest.empty() ? std::nullopt : channel_affine_of(lowering.facts, *rest.front());
  if (affine && affine->is_finite()) {
    const auto channels = as_size(element_at(lowering.info(convolution.output(0)).dims, 1));
    out.affine = is_part ? affine->part(as_size(group.first_channel), channels) : std::move(affine);
    out.affine_key = key_of_affine(lowering, *rest.front()) + ':' + std::to_string(group.first_channel);
    through = rest.front()->output(0);
    rest = rest.subspan(1);
  }
  auto stages = stages_of(lowering.facts, rest, through);
  if (!stages) return std::nullopt;
  for (Stage& stage : *stages) stage = shift_of(lowering.facts, stage).value_or(stage);
  out.stages = std::move(*stages);
  return out;
}

/// All operations of the group on the result, as stages that the chain kernel computes; else nothing.
std::optional<std::vector<Stage>> stages_downstream(Lowering& lowering, const Group& group) {
  const auto rest = rest_of_convolution(lowering, group);
  if (!rest) return std::nullopt;
  std::vector<Stage> out;
  if (rest->affine) out = rest->affine->stages(lowering.info(group.anchor().output(0)).dims.size());
  out.insert(out.end(), rest->stages.begin(), rest->stages.end());
  return are_own(out) ? std::optional(std::move(out)) : std::nullopt;
}

/// Lowers a convolution whose window covers the input once to a matrix product, for which the library has faster kernels.
bool lower_product(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const auto stages = stages_downstream(lowering, group);
  if (!stages) return false;
  const Dims &w = lowering.info(node.inputs[1]).dims, &y = lowering.info(node.outputs[0]).dims;
  const int64_t depth = element_count(w) / w[0];
  MatrixProduct product;
  product.source = as_matrices(lowering, lowering.places.of(node.inputs[0]), {y[0], depth});
  product.weights.desc = ordered(DataType::float32, {depth, w[0]}, Order::contiguous);
  product.constant = lowering.constant(node.inputs[1]);
  if (node.input(2) != ValueId::none) product.bias = lowering.places.dense(node.input(2), Order::contiguous);
  const Place destination = lowering.steps.new_place(ordered(DataType::float32, y, Order::contiguous));
  product.destination = view_of(destination, ordered(DataType::float32, {y[0], y[1]}, Order::contiguous), 0);
  if (!emit_product(lowering, product, true)) return false;
  finish(lowering, group, destination, *stages);
  return true;
}

/// Elements under a window of one channel up to which a convolution is a product of strided views: beyond, the library is faster.
constexpr int64_t kShallowWindow = 32;

/// Whether windows of few elements are strided views of a contiguous input of one channel, as of a speech model's samples: the library
/// would spend its time on changes of layout.
bool has_shallow_windows(Lowering& lowering, const Convolution& spec, const ProgramNode& node) {
  const Dims& w = lowering.info(node.inputs[1]).dims;
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  return !spec.transposed && spec.groups == 1 && w[1] == 1 && element_count(w) / w[0] <= kShallowWindow &&
         std::ranges::all_of(spec.pads_begin, is_zero) && std::ranges::all_of(spec.pads_end, is_zero) &&
         (!lowering.optimized() || lowering.planned_order(node) == Order::contiguous) &&
         (node.input(2) == ValueId::none || small_constant(lowering.facts, node.input(2)));
}

/// Lowers a convolution with shallow windows to the product of its weights with the windows as columns.
bool lower_columns(Lowering& lowering, const Group& group, const Convolution& spec) {
  const ProgramNode& node = group.anchor();
  auto stages = stages_downstream(lowering, group);
  if (!stages) return false;
  const Dims &w = lowering.info(node.inputs[1]).dims, &y = lowering.info(node.outputs[0]).dims;
  const Place source = lowering.places.of(node.inputs[0]);
  TensorDesc windows{DataType::float32, {y[0], w[1]}, {source.desc.strides[0], source.desc.strides[1]}};
  for (const bool taps : {true, false}) {
    for (std::size_t i = 2; i < w.size(); ++i) {
      windows.dims.push_back(taps ? w[i] : y[i]);
      windows.strides.push_back(source.desc.strides[i] * (taps ? spec.dilations[i - 2] : spec.strides[i - 2]));
    }
  }
  const int64_t depth = element_count(w) / w[0], positions = element_count(y) / (y[0] * y[1]);
  MatrixProduct product;
  product.source = as_matrices(lowering, lowering.places.of(node.inputs[1]), {1, w[0], depth});
  product.weights = as_matrices(lowering, view_of(source, windows, 0), {y[0], depth, positions});
  const Place destination = lowering.steps.new_place(ordered(DataType::float32, y, Order::contiguous));
  product.destination = view_of(destination, ordered(DataType::float32, {y[0], y[1], positions}, Order::contiguous), 0);
  if (!emit_product(lowering, product)) return false;
  if (const auto bias = small_constant(lowering.facts, node.input(2))) {
    stages->insert(stages->begin(), add_per_channel(*bias, y.size()));
  }
  finish(lowering, group, destination, *stages);
  return true;
}

/// Stages as post-ops on a destination of a given order, and the residual whose place the destination takes, if any.
struct PostOps {
  std::vector<PostOp> ops;
  std::vector<Place> operands;  ///< per op; only binaries have one
  std::optional<Place> residual;
};

/// Number of stages whose operand is in a buffer.
int64_t count_reads(Lowering& lowering, const std::vector<Stage>& stages, BufferId buffer) {
  return std::ranges::count_if(
      stages, [&](const Stage& stage) { return stage.value != ValueId::none && lowering.places.of(stage.value).buffer == buffer; });
}

PostOps make_post_ops(Lowering& lowering, const std::vector<Stage>& stages, const Place& source, Order order) {
  PostOps out;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    PostOp op;
    Place operand;
    if (!stage.is_binary) {
      op = function_op(stage);
    } else {
      operand = stage.value == ValueId::none ? lowering.steps.fixed_place(stage.constant) : lowering.places.dense(stage.value, order);
      const bool in_place = i == 0 && stage.binary == BinaryFunction::add && stage.value != ValueId::none &&
                            lowering.places.can_overwrite(operand) && operand.buffer != source.buffer &&
                            count_reads(lowering, stages, operand.buffer) == 1;
      op.kind = in_place ? PostOp::Kind::sum : PostOp::Kind::binary;
      op.binary = stage.binary;
      op.operand = operand.desc;
      if (in_place) out.residual = operand;
    }
    out.ops.push_back(op);
    out.operands.push_back(op.kind == PostOp::Kind::binary ? operand : Place{});
  }
  return out;
}

/// Whether a convolution is a product of the weights, of dims `w`, with every element of the operand.
bool is_point(const Convolution& spec, const Dims& w) {
  const auto all = [](auto begin, auto end, int64_t value) { return std::all_of(begin, end, [=](int64_t dim) { return dim == value; }); };
  const auto& [strides, begin, end] = std::tie(spec.strides, spec.pads_begin, spec.pads_end);
  return spec.groups == 1 && !spec.transposed && all(w.begin() + 2, w.end(), 1) && all(strides.begin(), strides.end(), 1) &&
         all(begin.begin(), begin.end(), 0) && all(end.begin(), end.end(), 0);
}

/// The library's reorder of such an operand, element by element, takes longer than the convolution; with one channel it needs none.
bool has_few_channels(const Lowering& lowering, const ProgramNode& node) {
  return element_at(lowering.info(node.inputs[0]).dims, 1) <= rates::kFewChannels;
}

/// Whether a convolution has so few outputs that the library's vectors would be nearly empty.
bool is_narrow(const Lowering& lowering, const ConvolutionGroup& parts) {
  constexpr int64_t kFewestTaps = 2;
  const Dims& w = lowering.info(parts.node->inputs[1]).dims;
  const int64_t taps = w[0] == 0 ? 0 : element_count(w) / (w[0] * w[1]);
  return lowering.optimized() && are_own(parts.rest.stages) && !parts.spec.transposed && parts.spec.groups == 1 &&
         w[0] <= NarrowConvolution::kMostOutputs && w[1] % NarrowConvolution::kChannels == 0 && taps >= kFewestTaps;
}

/// Repeats each channel once for each output of it.
Place repeated(Lowering& lowering, const Place& place, int64_t repeats, Order order) {
  const auto with_repeats = [&](TensorDesc desc, int64_t stride) {
    desc.dims.insert(desc.dims.begin() + 2, repeats);
    desc.strides.insert(desc.strides.begin() + 2, stride);
    return desc;
  };
  Dims dims = place.desc.dims;
  dims[1] *= repeats;
  const Place out = lowering.steps.new_place(ordered(DataType::float32, dims, order));
  TensorDesc channels = out.desc;
  channels.dims[1] /= repeats;
  const int64_t stride = channels.strides[1];
  channels.strides[1] *= repeats;
  lowering.steps.copy(view_of(place, with_repeats(place.desc, 0), 0), view_of(out, with_repeats(channels, stride), 0), StepKind::inside);
  return out;
}

/// Takes the first stages after a result of these dims that the Winograd kernel applies before it stores: adding a residual, clipping.
std::optional<Place> take_finish(Lowering& lowering, const Dims& dims, WinogradConvolution& shape, std::span<const Stage>& stages) {
  std::optional<Place> residual;
  const auto is_image = [&](const Stage& stage) {
    return stage.value != ValueId::none && lowering.is_tensor(stage.value) && lowering.info(stage.value).dims == dims;
  };
  if (!stages.empty() && stages[0].is_binary && stages[0].binary == BinaryFunction::add && is_image(stages[0])) {
    residual = lowering.places.dense(stages[0].value, Order::channels_last);
    stages = stages.subspan(1);
  }
  if (stages.empty() || stages[0].is_binary) return residual;
  const bool clips = stages[0].function == Function::clip;
  if (!clips && (stages[0].function != Function::relu || stages[0].alpha != 0)) return residual;
  shape.lowest = clips ? stages[0].alpha : 0;
  if (clips) shape.highest = stages[0].beta;
  stages = stages.subspan(1);
  return residual;
}

/// Distance of a window's taps from which products for each of them are faster. Three taps of 128 channels to 128 at 7500 positions took
/// 28 ms at 128 KiB and 65 at 1 MiB, where products take 18, and 15 at 64 KiB (AMD EPYC with AVX2, oneDNN 3.7.2, 2026-11-30).
constexpr int64_t kFarTapBytes = int64_t{128} << 10;

class ConvolutionLowering {
 public:
  ConvolutionLowering(Lowering& lowering, const Group& group, ConvolutionGroup parts)
      : lowering_(lowering), group_(group), parts_(std::move(parts)), output_dims_(lowering.info(group.output()).dims) {
    constexpr int64_t kMostRepeated = 4;
    const Dims& w = lowering.info(parts_.node->inputs[1]).dims;
    const Dims& x = lowering.info(parts_.node->inputs[0]).dims;
    macs_ = parts_.spec.transposed ? element_count(x) * (element_count(w) / w[0]) : element_count(output_dims_) * (element_count(w) / w[0]);
    if (!parts_.spec.transposed && parts_.spec.groups == x[1] && w[0] / x[1] <= kMostRepeated) repeats_ = w[0] / x[1];
    if (repeats_ > 1) parts_.spec.groups = w[0];
    // Small ops run on one thread; the primitive is made for the number of threads that it runs on.
    threads_ = lowering.steps.use_threads(nanoseconds());
  }

  bool run() {
    const Order order = computed_order();
    const Place source = operand(order);
    bias_ = make_bias(lowering_, parts_);
    lowering_.steps.use_threads(nanoseconds());
    if (emit_winograd(source, order) || emit_narrow(source, order) || emit_taps(source, order)) return true;
    if (!emit_with_post_ops(source, order) && !emit_bare(source, order)) {
      const Order other = order == Order::contiguous ? Order::channels_last : Order::contiguous;
      if (!emit_bare(operand(other), other)) return false;
    }
    return true;
  }

 private:
  /// Estimated time on one thread, of arithmetic or of memory. Depthwise convolutions of small windows do little with each element.
  [[nodiscard]] double nanoseconds() const {
    const Dims& x = lowering_.info(parts_.node->inputs[0]).dims;
    const Dims& w = lowering_.info(parts_.node->inputs[1]).dims;
    const bool is_depthwise = parts_.spec.groups > 1 && parts_.spec.groups == w[0];
    const double rate = is_depthwise ? step_rates::kDepthwiseMacsPerNanosecond : step_rates::kMacsPerNanosecond;
    const auto bytes = static_cast<double>(element_count(x) + element_count(w) + element_count(output_dims_)) * sizeof(float);
    return std::max(static_cast<double>(macs_) / rate, bytes / step_rates::kStreamedBytesPerNanosecond);
  }

  /// The order of operand and result.
  [[nodiscard]] Order outer_order() const {
    if (!lowering_.optimized()) return Order::contiguous;
    return lowering_.planned_order(*parts_.node).value_or(Order::channels_last);
  }

  /// Contiguous operands are computed as they are where the library is fast at it. Otherwise, and in hand-written kernels, the convolution
  /// is computed channels-last inside the node.
  [[nodiscard]] Order computed_order() const {
    if (outer_order() == Order::channels_last || parts_.spec.transposed || repeats_ > 1) return Order::channels_last;
    if (winograd().has_value() || is_narrow(lowering_, parts_)) return Order::channels_last;
    if (lowering_.library().fast_plain_convolution())
      return has_few_channels(lowering_, *parts_.node) ? Order::channels_last : Order::contiguous;
    return parts_.spec.groups > 1 || output_dims_.size() == 5 ? Order::channels_last : Order::contiguous;
  }

  Place operand(Order order) {
    const ValueId value = parts_.node->inputs[0];
    if (repeats_ > 1) return repeated(lowering_, lowering_.places.of(value), repeats_, order);
    return order == outer_order() ? lowering_.places.dense(value, order) : lowering_.places.dense_inside(value, order);
  }

  MadePrimitive make(const Place& source, Order order, std::vector<PostOp> post_ops) {
    Convolution spec = parts_.spec;
    // With one channel the strides fit both orders: the library would take it for contiguous, and compute that with copies.
    spec.source = ordered(DataType::float32, source.desc.dims, order);
    spec.weights = TensorDesc{DataType::float32, lowering_.info(parts_.node->inputs[1]).dims, {}};
    spec.weights.strides = contiguous_strides(spec.weights.dims);
    spec.destination = ordered(DataType::float32, output_dims_, order);
    spec.has_bias = bias_.has_value();
    spec.post_ops = std::move(post_ops);
    return lowering_.library().make(spec);
  }

  void emit(MadePrimitive made, const Place& source, const PostOps& post, const Place& destination) {
    std::vector<Place> places{source, pack_weights(lowering_, parts_, *made.primitive->weights_format())};
    std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::weights, 0}};
    if (bias_) {
      places.push_back(*bias_);
      roles.emplace_back(Argument::bias, 0);
    }
    for (std::size_t i = 0; i < post.operands.size(); ++i) {
      if (!post.operands[i]) continue;
      places.push_back(post.operands[i]);
      roles.emplace_back(Argument::operand, static_cast<int>(i));
    }
    places.push_back(destination);
    roles.emplace_back(Argument::destination, 0);
    lowering_.steps.emit(make_primitive_kernel(std::move(made.primitive), std::move(roles)), places, threads_);
    lowering_.steps.count_macs(macs_);
  }

  /// The Winograd form, with fewer products, if it pays and plans run often: the weights are transformed, 16 numbers instead of 9.
  [[nodiscard]] std::optional<WinogradConvolution> winograd() const {
    if (!lowering_.optimized() || lowering_.settings.few_runs || !are_own(parts_.rest.stages)) return std::nullopt;
    const auto& inputs = parts_.node->inputs;
    return winograd_of(parts_.spec, lowering_.info(inputs[0]).dims, lowering_.info(inputs[1]).dims, output_dims_, threads_);
  }

  bool emit_winograd(const Place& source, Order order) {
    auto shape = order == Order::channels_last ? winograd() : std::nullopt;
    if (!shape) return false;
    std::vector<std::unique_ptr<Primitive>> products;
    std::vector<Place> places{source};
    for (int64_t plane = 0; plane < shape->window_depth; ++plane) {
      products.push_back(lowering_.library().make(shape->product(plane, threads_)).primitive);
      if (!products.back()) return false;
      const auto change = [&](const Tensor& weights) { return winograd_weights(weights, shape->groups, plane); };
      const std::string kind = "winograd" + std::to_string(plane) + "of" + std::to_string(shape->groups);
      places.push_back(pack_weights(lowering_, parts_, *products.back()->weights_format(), kind, change));
    }
    std::span<const Stage> stages = parts_.rest.stages;
    const std::optional<Place> residual = order != outer_order() ? std::nullopt : take_finish(lowering_, output_dims_, *shape, stages);
    shape->has_bias = bias_.has_value(), shape->has_residual = residual.has_value();
    if (bias_) places.push_back(*bias_);
    if (residual) places.push_back(*residual);
    const Place destination = lowering_.steps.new_place(ordered(DataType::float32, output_dims_, order));
    places.push_back(destination);
    const int threads = lowering_.steps.use_threads(nanoseconds());
    lowering_.steps.emit(
        make_winograd_kernel(*shape, std::move(products), reader_of_weights(lowering_, parts_), {lowering_.settings.library, threads}),
        places, threads);
    lowering_.steps.count_macs(macs_);
    finish(lowering_, group_, outside(destination), {stages.begin(), stages.end()});
    return true;
  }

  bool emit_narrow(const Place& source, Order order) {
    if (order != Order::channels_last || !is_narrow(lowering_, parts_)) return false;
    const Tensor weights = narrow_weights(reader_of_weights(lowering_, parts_)());
    const std::span<const float> numbers(weights.data<float>(), as_size(weights.element_count()));
    if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return false;
    const Dims& w = lowering_.info(parts_.node->inputs[1]).dims;
    const NarrowConvolution spec{source.desc.dims,    output_dims_,          Dims(w.begin() + 2, w.end()),
                                 parts_.spec.strides, parts_.spec.dilations, parts_.spec.pads_begin,
                                 bias_.has_value()};
    std::vector<Place> places{source, lowering_.steps.fixed_place(weights)};
    if (bias_) places.push_back(*bias_);
    const Place destination = lowering_.steps.new_place(ordered(DataType::float32, output_dims_, order));
    places.push_back(destination);
    const int threads = lowering_.steps.use_threads(nanoseconds());
    lowering_.steps.emit(make_narrow_convolution_kernel(spec, {lowering_.settings.library, threads}), places, threads);
    lowering_.steps.count_macs(macs_);
    finish(lowering_, group_, outside(destination), parts_.rest.stages);
    return true;
  }

  /// Whether taps are so far apart that the library spends its time on copies of what is between them.
  [[nodiscard]] bool has_far_taps() const {
    const Convolution& spec = parts_.spec;
    const Dims& w = lowering_.info(parts_.node->inputs[1]).dims;
    if (w.size() != 3 || spec.groups != 1 || spec.transposed || spec.pads_begin[0] != 0 || spec.pads_end[0] != 0) return false;
    return lowering_.optimized() && are_own(parts_.rest.stages) && w[2] > 1 &&
           spec.dilations[0] * w[1] * int64_t{sizeof(float)} >= kFarTapBytes;
  }

  /// A convolution along one dim as the sum of a product for each tap of its window.
  bool emit_taps(const Place& source, Order order) {
    if (order != Order::channels_last || !has_far_taps()) return false;
    const Dims &x = source.desc.dims, &w = lowering_.info(parts_.node->inputs[1]).dims;
    const int64_t images = x[0], rows = output_dims_[2], channels = w[1], outputs = w[0], step = parts_.spec.strides[0];
    const TensorDesc from{DataType::float32, {images, rows, channels}, {x[2] * channels, step * channels, 1}};
    Matmul product{from,
                   ordered(DataType::float32, {1, channels, outputs}, Order::contiguous),
                   ordered(DataType::float32, {images, rows, outputs}, Order::contiguous),
                   bias_.has_value(),
                   true,
                   {}};
    const int threads = lowering_.steps.use_threads(nanoseconds());
    PostOp sum;
    sum.kind = PostOp::Kind::sum;
    std::vector<std::unique_ptr<Primitive>> products;
    for (int64_t tap = 0; tap < w[2]; ++tap) {
      products.push_back(lowering_.library().make(product).primitive);
      if (!products.back()) return false;
      product.has_bias = false;
      product.post_ops.assign(1, sum);
    }
    const Place destination = lowering_.steps.new_place(ordered(DataType::float32, output_dims_, order));
    for (int64_t tap = 0; tap < w[2]; ++tap) {
      std::unique_ptr<Primitive>& one = products[as_size(tap)];
      const auto weights_of_tap = [&](const Tensor& all) {
        return all.view({1, channels, outputs}, {all.strides()[0], all.strides()[1], all.strides()[0]}, tap * all.strides()[2]);
      };
      const int64_t offset = tap * parts_.spec.dilations[0] * channels * int64_t{sizeof(float)};
      std::vector<Place> places{view_of(source, from, offset),
                                pack_weights(lowering_, parts_, *one->weights_format(), "tap" + std::to_string(tap), weights_of_tap)};
      std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::weights, 0}};
      if (bias_ && tap == 0) {
        places.push_back(*bias_);
        roles.emplace_back(Argument::bias, 0);
      }
      places.push_back(destination);
      roles.emplace_back(Argument::destination, 0);
      lowering_.steps.emit(make_primitive_kernel(std::move(one), std::move(roles)), places, threads);
      lowering_.steps.count_macs(macs_ / w[2]);
    }
    finish(lowering_, group_, outside(destination), parts_.rest.stages);
    return true;
  }

  /// The result in the order of the node, where it was computed in another.
  Place outside(const Place& result) {
    if (is_ordered(result.desc, outer_order())) return result;
    const Place out = lowering_.steps.new_place(ordered(DataType::float32, output_dims_, outer_order()));
    lowering_.steps.copy(result, out, StepKind::inside);
    return out;
  }

  /// Products of unfolded windows apply post-ops element by element, in loops that are not vectorized. Contiguous convolutions by windows
  /// of one element multiply their operands without a copy, but with post-ops both are copied. A separate pass is faster.
  [[nodiscard]] bool applies_slowly(const Primitive& primitive, Order order) const {
    const Dims& w = lowering_.info(parts_.node->inputs[1]).dims;
    const bool copies =
        order == Order::contiguous && is_point(parts_.spec, w) && primitive.implementation().find("ncsp") != std::string::npos;
    return (copies || primitive.implementation().find("gemm") != std::string::npos) && are_own(parts_.rest.stages);
  }

  bool emit_with_post_ops(const Place& source, Order order) {
    if (parts_.rest.stages.empty() || order != outer_order()) return false;
    const PostOps post = make_post_ops(lowering_, parts_.rest.stages, source, order);
    lowering_.steps.use_threads(nanoseconds());
    MadePrimitive made = make(source, order, post.ops);
    if (!made.primitive || applies_slowly(*made.primitive, order)) return false;
    const Place destination = post.residual ? *post.residual : lowering_.steps.new_place(ordered(DataType::float32, output_dims_, order));
    emit(std::move(made), source, post, destination);
    lowering_.places.define(group_.output(), destination);
    return true;
  }

  /// The convolution alone, and its stages as a separate pass.
  bool emit_bare(const Place& source, Order order) {
    if (!are_own(parts_.rest.stages)) return false;
    lowering_.steps.use_threads(nanoseconds());
    MadePrimitive made = make(source, order, {});
    if (!made.primitive) return false;
    Place destination = lowering_.steps.new_place(ordered(DataType::float32, output_dims_, order));
    emit(std::move(made), source, {}, destination);
    destination = outside(destination);
    if (!parts_.rest.stages.empty()) emit_stages(lowering_, destination, destination, parts_.rest.stages);
    lowering_.places.define(group_.output(), destination);
    return true;
  }

  Lowering& lowering_;
  const Group& group_;
  ConvolutionGroup parts_;
  Dims output_dims_;
  std::optional<Place> bias_;
  int64_t macs_ = 0;
  /// Outputs of each channel, where a group is one channel: the library has fast kernels for one output, and general ones for groups.
  int64_t repeats_ = 1;
  int threads_ = 1;
};

bool is_suitable(Lowering& lowering, const ProgramNode& node) {
  for (const ValueId input : node.inputs) {
    if (input != ValueId::none && !lowering.facts.is_float_tensor(input)) return false;
  }
  const Dims& x = lowering.info(node.inputs[0]).dims;
  if (x.size() < 3 || x.size() > 5 || lowering.constant(node.inputs[1]) == nullptr) return false;
  const auto is_empty = [&](ValueId value) { return element_count(lowering.info(value).dims) == 0; };
  return !is_empty(node.inputs[0]) && !is_empty(node.inputs[1]) && !is_empty(node.outputs[0]);
}

}  // namespace

bool lower_convolution(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (!is_suitable(lowering, node)) return false;
  ConvolutionGroup parts;
  parts.node = &node;
  parts.terms = group.terms;
  parts.spec = spec_of(lowering, node);
  const auto is_negative = [](int64_t pad) { return pad < 0; };
  if (std::ranges::any_of(parts.spec.pads_begin, is_negative)) return false;
  if (!parts.spec.transposed && std::ranges::any_of(parts.spec.pads_end, is_negative)) return false;
  const bool is_sum = !parts.terms.empty();
  if (!is_sum && is_product(lowering, parts.spec, node) && lower_product(lowering, group)) return true;
  if (!is_sum && has_shallow_windows(lowering, parts.spec, node) && lower_columns(lowering, group, parts.spec)) return true;
  auto rest = rest_of_convolution(lowering, group);
  if (!rest) return false;
  parts.rest = std::move(*rest);
  return ConvolutionLowering(lowering, group, std::move(parts)).run();
}

void lower_part(Lowering& lowering, const Group& group) {
  const auto stages = stages_downstream(lowering, group);
  if (!stages) fail(ErrorKind::defect, group.anchor().node->label() + ": operators downstream of its Concat cannot run in its part");
  const Place place = lowering.places.of(group.output());
  emit_stages(lowering, place, place, *stages);
}

}  // namespace relayout::exec
