// Lowers pools and reductions to relayout's kernels.
#include <numeric>

#include "base/positions.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/kernels/window.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Every window must cover an input element: the kernel has no initial value otherwise.
bool covers_input(const Window& window, const Dims& input, const Dims& output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (window.before[i] < 0 || window.after[i] < 0) return false;
    for (int64_t o = 0; o < output[i]; ++o) {
      const int64_t start = o * window.strides[i] - window.before[i];
      const int64_t first = start >= 0 ? 0 : (-start + window.dilations[i] - 1) / window.dilations[i];
      if (first >= window.kernel[i] || start + first * window.dilations[i] >= input[i]) return false;
    }
  }
  return true;
}

/// Whether there is only one window, equal to the input.
bool is_whole(const Window& window, const Dims& input, const Dims& output) {
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  return window.kernel == input && element_count(output) == 1 && std::ranges::all_of(window.before, is_zero) &&
         std::ranges::all_of(window.after, is_zero);
}

/// The order in which the operand is read and the result written: the planned one or channels-last, if the operand is laid out in it.
/// Otherwise contiguous; nothing where an order was planned.
std::optional<Order> order_of(Lowering& lowering, const ProgramNode& node) {
  if (!lowering.optimized()) return Order::contiguous;
  const TensorDesc& desc = lowering.places.of(node.inputs[0]).desc;
  const auto order = lowering.planned_order(node);
  const auto stored = layout::order_of_strides(desc.dims, desc.strides);
  for (const Order candidate : {order.value_or(Order::contiguous), Order::channels_last}) {
    if (stored == layout::order_of_strides(desc.dims, ordered(desc.type, desc.dims, candidate).strides)) return candidate;
  }
  return order ? std::nullopt : std::optional(Order::contiguous);
}

Reduction reduction_of(std::string_view op) {
  const bool is_maximum = op == "GlobalMaxPool" || op == "MaxPool" || op == "ReduceMax";
  return is_maximum ? Reduction::maximum : op == "ReduceSum" ? Reduction::sum : Reduction::mean;
}

bool is_image(Lowering& lowering, ValueId value) {
  if (!lowering.is_tensor(value)) return false;
  const DatumInfo& info = lowering.info(value);
  return info.type == DataType::float32 && info.dims.size() >= 3 && info.dims.size() <= 5 && element_count(info.dims) != 0;
}

/// Whether the kernel finds the places of the largest elements: in images whose channels are side by side.
bool gives_places_in(Lowering& lowering, const ProgramNode& node, Order order) {
  const Dims& x = lowering.info(node.inputs[0]).dims;
  const bool is_small = element_count(x) / (x[0] * x[1]) <= std::numeric_limits<int32_t>::max();
  return order == Order::channels_last && x[1] > 1 && is_small && node.call.attributes.integer("storage_order", 0) == 0 &&
         is_ordered(lowering.result_desc(node, 1, order), order);
}

}  // namespace

bool lower_pool(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (!is_image(lowering, node.inputs[0]) || !is_image(lowering, node.outputs[0])) return false;
  const Dims& x = lowering.info(node.inputs[0]).dims;
  const Dims& y = lowering.info(node.outputs[0]).dims;
  const Dims input(x.begin() + 2, x.end()), output(y.begin() + 2, y.end());
  const bool gives_places = node.output(1) != ValueId::none;
  const PoolWindow window{window_of(node.call, input, {}), node.node->op_type() == "AveragePool", gives_places,
                          node.call.attributes.integer("count_include_pad", 0) != 0};
  if (!covers_input(window, input, output)) return false;
  if (!gives_places && is_whole(window, input, output)) return lower_spatial(lowering, group);

  const auto order = order_of(lowering, node);
  if (!order || (gives_places && !gives_places_in(lowering, node, *order))) return false;
  const Place source = lowering.places.dense(node.inputs[0], *order);
  const Place destination = lowering.steps.new_place(lowering.result_desc(node, 0, *order));
  if (!is_ordered(destination.desc, *order)) return false;
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(y) * window.taps()) / step_rates::kTapsPerNanosecond);
  std::vector<Place> places{source, destination};
  if (gives_places) places.push_back(lowering.steps.new_place(lowering.result_desc(node, 1, *order)));
  lowering.steps.emit(make_pool_kernel(source.desc, destination.desc, window, {lowering.settings.library, threads}), places, threads);
  lowering.places.define(node.outputs[0], destination);
  if (gives_places) lowering.places.define(node.outputs[1], places.back());
  return true;
}

namespace {

/// Lines of few elements that other dims follow in memory.
struct ShortColumns {
  IndexedLines shape;
  layout::AxisOrder rest;  ///< of the result's dims
};

/// A reduction over dims that are side by side in memory, with others inside them.
std::optional<ShortColumns> short_columns_of(Lowering& lowering, const ProgramNode& node, const TensorDesc& source) {
  const auto axes = reduced_axes(lowering.facts, node);
  const auto order = layout::order_of_strides(source.dims, source.strides);
  if (!axes || !order || !layout::is_dense(source.dims, source.strides)) return std::nullopt;
  const auto is_reduced = [&](int64_t axis) { return std::ranges::binary_search(*axes, axis); };
  const auto first = std::ranges::find_if(*order, is_reduced), end = std::find_if_not(first, order->end(), is_reduced);
  if (first == end || std::find_if(end, order->end(), is_reduced) != order->end()) return std::nullopt;
  const auto size_of = [&](auto from, auto to) {
    return std::accumulate(from, to, int64_t{1}, [&](int64_t size, int64_t axis) { return size * element_at(source.dims, axis); });
  };
  ShortColumns out{{size_of(order->begin(), first), size_of(first, end), 1, size_of(end, order->end())}, {}};
  const bool keeps = lowering.info(node.outputs[0]).dims.size() == source.dims.size();
  for (const int64_t axis : *order) {
    if (!is_reduced(axis)) out.rest.push_back(keeps ? axis : axis - (std::ranges::lower_bound(*axes, axis) - axes->begin()));
  }
  const bool is_short = out.shape.length <= kLongestColumn && out.shape.inner > 1;
  return is_short ? std::optional(std::move(out)) : std::nullopt;
}

bool lower_short_columns(Lowering& lowering, const ProgramNode& node) {
  const Place source = lowering.places.of(node.inputs[0]);
  const auto columns = short_columns_of(lowering, node, source.desc);
  if (!columns) return false;
  const DatumInfo& result = lowering.info(node.outputs[0]);
  const auto planned = lowering.made(node, 0);
  const TensorDesc desc = ordered(result.type, result.dims, columns->rest);
  if (planned ? *planned != columns->rest : !is_ordered(desc, Order::contiguous)) return false;
  const Place destination = lowering.steps.new_place(desc);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(source.desc.dims)) / step_rates::kSummedPerNanosecond);
  lowering.steps.emit(make_column_kernel(columns->shape, reduction_of(node.node->op_type()), {lowering.settings.library, threads}),
                      {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace

bool lower_reduce(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& x = lowering.info(node.inputs[0]);
  if (!lowering.optimized() || x.type != DataType::float32 || element_count(x.dims) == 0) return false;
  const std::size_t count = reduced_last_dims(lowering.facts, node);
  if (count != 0 && count == x.dims.size() - 2 && is_image(lowering, node.inputs[0])) return lower_spatial(lowering, group);
  const Place source = lowering.places.of(node.inputs[0]);
  const DatumInfo& result = lowering.info(node.outputs[0]);
  const TensorDesc desc = lowering.result_desc(node, 0, Order::contiguous);
  if (count == 0 || !is_ordered(source.desc, Order::contiguous)) return lower_short_columns(lowering, node);
  if (!is_ordered(desc, Order::contiguous)) return false;
  const int64_t lines = element_count(result.dims), length = element_count(x.dims) / lines;
  if (length < kShortLine) return false;
  const Place destination = lowering.steps.new_place(desc);
  const int threads = lowering.steps.use_threads(static_cast<double>(lines * length) / step_rates::kSummedPerNanosecond);
  lowering.steps.emit(make_spatial_kernel(ordered(x.type, {1, lines, length}, Order::contiguous), reduction_of(node.node->op_type()),
                                          {lowering.settings.library, threads}),
                      {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

bool lower_spatial(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (!is_image(lowering, node.inputs[0])) return false;
  const auto order = order_of(lowering, node);
  if (!order) return false;
  const Place source = lowering.places.dense(node.inputs[0], *order);
  const DatumInfo& result = lowering.info(node.outputs[0]);
  const Place destination = lowering.steps.new_place(ordered(result.type, result.dims, Order::contiguous));
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(source.desc.dims)) / step_rates::kSummedPerNanosecond);
  lowering.steps.emit(make_spatial_kernel(source.desc, reduction_of(node.node->op_type()), {lowering.settings.library, threads}),
                      {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
