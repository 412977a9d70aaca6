// Lowers normalizations and softmax to oneDNN or to relayout's kernels.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/op_history.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Whether a value is a vector of `length` f32.
bool is_line(const Lowering& lowering, ValueId value, int64_t length) {
  const DatumInfo& info = lowering.info(value);
  return info.type == DataType::float32 && info.dims == Dims{length};
}

/// The places of mean and variance of each line, where a node gives statistics of them; nothing where these are not f32.
std::optional<std::vector<Place>> statistics_of(Lowering& lowering, const ProgramNode& node) {
  std::vector<Place> out;
  for (const std::size_t i : {1UL, 2UL}) {
    if (node.output(i) == ValueId::none) continue;
    if (lowering.info(node.output(i)).type != DataType::float32) return std::nullopt;
    out.resize(2);
  }
  Dims dims = lowering.info(node.inputs[0]).dims;
  dims.back() = 1;
  for (Place& one : out) one = lowering.steps.new_place(ordered(DataType::float32, dims, Order::contiguous));
  return out;
}

/// Gives mean and 1 / √(variance + ε).
void define_statistics(Lowering& lowering, const ProgramNode& node, const std::vector<Place>& statistics, float epsilon) {
  if (node.output(1) != ValueId::none) lowering.places.define(node.output(1), statistics[0]);
  if (node.output(2) == ValueId::none) return;
  std::vector<Stage> stages(3);
  stages[0].function = Function::linear;
  stages[0].alpha = 1;
  stages[0].beta = epsilon;
  stages[1].function = Function::sqrt;
  stages[2].function = Function::reciprocal;
  emit_stages(lowering, statistics[1], statistics[1], stages);
  lowering.places.define(node.output(2), statistics[1]);
}

/// The operand with its last dim innermost and without gaps, whose lines are in the order in which they are stored where that is possible.
Place place_of_lines(Lowering& lowering, ValueId value, bool in_any_order) {
  const Place stored = lowering.places.of(value);
  const TensorDesc& desc = stored.desc;
  const bool are_lines = desc.dims.back() > 1 && desc.strides.back() == 1 && layout::is_dense(desc.dims, desc.strides);
  return in_any_order && are_lines ? stored : lowering.places.dense(value, Order::contiguous);
}

}  // namespace

/// Only over the last dim.
bool lower_layer_normalization(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& x = lowering.info(node.inputs[0]);
  if (x.type != DataType::float32 || x.dims.size() < 2 || element_count(x.dims) == 0) return false;
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = node.call.attributes.integer("axis", -1);
  if (axis != -1 && axis != rank - 1) return false;
  const ValueId scale = node.input(1), shift = node.input(2);
  if (scale == ValueId::none || !is_line(lowering, scale, x.dims.back()) ||
      (shift != ValueId::none && !is_line(lowering, shift, x.dims.back())))
    return false;

  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(x.dims)) / step_rates::kExponentialsPerNanosecond);
  const float epsilon = node.call.attributes.real("epsilon", 1e-5F);
  const auto statistics = statistics_of(lowering, node);
  if (!statistics) return false;
  const TensorDesc lines = ordered(x.type, {element_count(x.dims) / x.dims.back(), x.dims.back()}, Order::contiguous);
  MadePrimitive made = lowering.library().make(Normalization{lines, lines, epsilon, true, shift != ValueId::none, !statistics->empty()});
  if (!made.primitive) return false;
  const Place source = place_of_lines(lowering, node.inputs[0], statistics->empty());
  const Place destination = lowering.steps.new_place(source.desc);
  std::vector<Place> places{source, lowering.places.dense(scale, Order::contiguous)};
  std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::scale, 0}};
  const auto give = [&](const Place& place, Argument role) {
    places.push_back(place);
    roles.emplace_back(role, 0);
  };
  if (shift != ValueId::none) give(lowering.places.dense(shift, Order::contiguous), Argument::shift);
  if (!statistics->empty()) {
    give(statistics->front(), Argument::mean);
    give(statistics->back(), Argument::variance);
  }
  give(destination, Argument::destination);
  lowering.steps.emit(make_primitive_kernel(std::move(made.primitive), std::move(roles)), places, threads);
  if (!statistics->empty()) define_statistics(lowering, node, *statistics, epsilon);
  const TensorDesc result = lowering.result_desc(node, 0, Order::contiguous);
  if (layout::order_of_strides(x.dims, result.strides) == layout::order_of_strides(x.dims, destination.desc.strides)) {
    lowering.places.define(node.outputs[0], destination);
    return true;
  }
  const Place wanted = lowering.steps.new_place(result);
  emit_copy(lowering, destination, wanted, result);
  lowering.places.define(node.outputs[0], wanted);
  return true;
}

namespace {

/// Images whose groups of channels are normalized, with `parameters` numbers in each of scale and shift.
struct GroupNormalization {
  int64_t groups = 1, parameters = 1;
};

std::unique_ptr<Kernel> group_kernel(const GroupNormalization& spec, const Dims& dims, Order order, float epsilon, const Team& team) {
  const int64_t images = dims[0], channels = dims[1], positions = element_count(dims) / (images * channels);
  const int64_t group = channels / spec.groups;
  if (order == Order::channels_last) {
    return make_channel_normalization_kernel({images, positions, channels, group, spec.parameters, epsilon}, team);
  }
  const int64_t runs = spec.parameters == channels ? group : 1;
  return make_line_normalization_kernel({images * spec.groups, group * positions, runs, spec.parameters, epsilon}, team);
}

bool lower_groups(Lowering& lowering, const ProgramNode& node, const GroupNormalization& spec) {
  const DatumInfo& x = lowering.info(node.inputs[0]);
  if (x.type != DataType::float32 || element_count(x.dims) == 0) return false;
  if (!is_line(lowering, node.inputs[1], spec.parameters) || !is_line(lowering, node.inputs[2], spec.parameters)) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const bool is_inside = !is_ordered(source.desc, Order::contiguous);
  const Order order = is_inside ? Order::channels_last : Order::contiguous;
  const TensorDesc desc = lowering.result_desc(node, 0, order);
  if (!is_ordered(source.desc, order) || !is_ordered(desc, order)) return false;
  const Place scale = lowering.places.dense(node.inputs[1], Order::contiguous);
  const Place shift = lowering.places.dense(node.inputs[2], Order::contiguous);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(x.dims)) / step_rates::kSummedPerNanosecond);
  const float epsilon = node.call.attributes.real("epsilon", 1e-5F);
  const bool in_place = lowering.places.can_overwrite(source) && scale.buffer != source.buffer && shift.buffer != source.buffer;
  const Place destination = in_place ? source : lowering.steps.new_place(desc);
  lowering.steps.emit(group_kernel(spec, x.dims, order, epsilon, {lowering.settings.library, threads}), {source, scale, shift, destination},
                      threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace

bool lower_instance_normalization(Lowering& lowering, const Group& group) {
  const int64_t channels = lowering.info(group.anchor().inputs[0]).dims[1];
  return lower_groups(lowering, group.anchor(), {channels, channels});
}

bool lower_group_normalization(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const int64_t groups = *node.call.attributes.integer("num_groups");
  return lower_groups(lowering, node, {groups, lowering.info(node.inputs[1]).dims[0]});
}

// Softmax, by its axis and the length of its lines.
namespace {

/// The axis, counted from the front, if a kernel over one axis of f32 can compute the node.
std::optional<int64_t> single_axis(Lowering& lowering, const ProgramNode& node) {
  const DatumInfo& x = lowering.info(node.inputs[0]);
  if (!lowering.optimized() || x.type != DataType::float32 || x.dims.empty() || element_count(x.dims) == 0) return std::nullopt;
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = from_front(softmax_axis(*node.node), rank);
  if (node.call.opset < kOneAxisOpset && axis != rank - 1) return std::nullopt;  // several dims as one
  return axis;
}

}  // namespace

/// Uses kernels for short lines and for lines with a stride, else the library's kernel. That drops NaN in some rows, which are searched
/// for. As written, the op table's kernel computes it.
bool lower_softmax(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& x = lowering.info(node.inputs[0]);
  const auto axis = single_axis(lowering, node);
  if (!axis || x.dims.size() > 6) return false;
  const TensorDesc& stored = lowering.places.of(node.inputs[0]).desc;
  const auto planned = lowering.made(node, 0);
  const bool inside = !is_ordered(stored, Order::contiguous) && is_ordered(stored, Order::channels_last);
  const Place source = planned ? lowering.places.dense(node.inputs[0], *planned)
                               : lowering.places.dense(node.inputs[0], inside ? Order::channels_last : Order::contiguous);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(x.dims)) / step_rates::kExponentialsPerNanosecond);
  const Team team{lowering.settings.library, threads};
  const int64_t length = element_at(x.dims, *axis);
  const int64_t stride = length == 1 ? 1 : element_at(source.desc.strides, *axis);
  std::unique_ptr<Kernel> kernel;
  if (stride == 1 && length <= kShortSoftmax) {
    kernel = make_short_softmax_kernel(length, element_count(x.dims) / length, team);
  } else if (stride > 1) {
    kernel = make_column_softmax_kernel(length, stride, element_count(x.dims), team);
  } else if (MadePrimitive made = lowering.library().make(Softmax{source.desc, source.desc, *axis}); made.primitive) {
    kernel =
        make_guarded_softmax_kernel(make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::destination, 0}}),
                                    length, element_count(x.dims) / length, team);
  } else {
    return false;
  }
  const Place destination = lowering.steps.new_place(source.desc);
  lowering.steps.emit(std::move(kernel), {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

/// Never uses the library's kernel, whose logarithm is off by 2e-6.
bool lower_log_softmax(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& x = lowering.info(node.inputs[0]);
  const auto axis = single_axis(lowering, node);
  if (!axis || *axis + 1 != static_cast<int64_t>(x.dims.size())) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const TensorDesc desc = lowering.result_desc(node, 0, Order::contiguous);
  if (!is_ordered(source.desc, Order::contiguous) || !is_ordered(desc, Order::contiguous)) return false;
  const Place destination = lowering.steps.new_place(desc);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(x.dims)) / step_rates::kExponentialsPerNanosecond);
  lowering.steps.emit(make_log_softmax_kernel(x.dims.back(), element_count(x.dims) / x.dims.back(), {lowering.settings.library, threads}),
                      {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
