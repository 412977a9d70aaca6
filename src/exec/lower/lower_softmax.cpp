// Selects the kernel of a softmax by its axis and the length of its lines.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/op_history.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

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
