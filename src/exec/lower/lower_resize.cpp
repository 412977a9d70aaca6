// Lowers interpolation to relayout's kernel where the changed dims are adjacent in memory.

#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/call.h"
#include "ops/kernels/resize.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

std::optional<std::vector<ResizeTaps>> taps_of(Lowering& lowering, const ProgramNode& node) {
  KnownInfos infos(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    DatumInfo info = lowering.info(node.inputs[i]);
    if (KnownConstant* const known = i == 0 ? nullptr : lowering.constant(node.inputs[i])) info.value = &lowering.store().load(*known);
    infos.set(i, std::move(info));
  }
  return interpolation_taps(node.call, infos.get(), lowering.info(node.inputs[0]).dims);
}

/// The dims in memory order, if those that change are adjacent; else nothing.
std::optional<Interpolation> interpolation_of(const std::vector<ResizeTaps>& taps, Order order, const Dims& dims) {
  std::vector<ResizeTaps> lying;
  const auto axes = order == Order::channels_last ? layout::channels_last_axes(dims.size()) : layout::contiguous_axes(dims.size());
  for (const int64_t axis : axes) lying.push_back(element_at(taps, axis));
  const auto changes = [](const ResizeTaps& one) { return one.count > 0; };
  const auto first = std::ranges::find_if(lying, changes);
  const auto last = std::find_if(lying.rbegin(), lying.rend(), changes).base();
  if (first == lying.end() || !std::all_of(first, last, changes)) return std::nullopt;
  Interpolation out;
  for (auto dim = lying.begin(); dim != first; ++dim) out.blocks *= dim->in;
  for (auto dim = last; dim != lying.end(); ++dim) out.tail *= dim->in;
  out.dims.assign(std::make_move_iterator(first), std::make_move_iterator(last));
  return out;
}

}  // namespace

bool lower_resize(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo &x = lowering.info(node.inputs[0]), &y = lowering.info(node.outputs[0]);
  if (!lowering.optimized() || x.type != DataType::float32 || element_count(x.dims) == 0 || element_count(y.dims) == 0) return false;
  if (std::max(element_count(x.dims), element_count(y.dims)) > std::numeric_limits<int32_t>::max()) return false;
  const auto taps = taps_of(lowering, node);
  if (!taps) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const Order order = is_ordered(source.desc, Order::contiguous) ? Order::contiguous : Order::channels_last;
  const TensorDesc desc = lowering.result_desc(node, 0, order);
  if (!is_ordered(source.desc, order) || !is_ordered(desc, order)) return false;
  auto interpolation = interpolation_of(*taps, order, x.dims);
  if (!interpolation) return false;
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(y.dims)) / step_rates::kSummedPerNanosecond);
  const Place destination = lowering.steps.new_place(desc);
  lowering.steps.emit(make_resize_kernel(std::move(*interpolation), {lowering.settings.library, threads}), {source, destination}, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
