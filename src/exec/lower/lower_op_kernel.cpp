// Lowers nodes without a faster kernel to the op table's kernel, or to views.

#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// The place as a tensor whose address only serves to compute offsets of views within the buffer.
Tensor phantom(const Place& place) {
  constexpr uintptr_t kBase = uintptr_t{1} << 44;
  return {place.desc, reinterpret_cast<std::byte*>(kBase), nullptr};  // NOLINT(performance-no-int-to-ptr): never followed
}

/// Defines outputs that are strides over the first input as views, where that is allowed in this mode.
bool lower_as_view(Lowering& lowering, const ProgramNode& node) {
  if (lowering.settings.observe || node.op->layout != LayoutRule::view || node.op->view == nullptr) return false;
  const ValueId input = node.input(0);
  if (input == ValueId::none || !lowering.is_tensor(input) || lowering.info(input).type == DataType::string) return false;
  std::vector<Datum> data(node.inputs.size());
  std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
  const Place from = lowering.places.of(input);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    KnownConstant* const known = i == 0 ? nullptr : lowering.constant(node.inputs[i]);
    if (i > 0 && known == nullptr) return false;
    data[i].tensor = i == 0 ? phantom(from) : lowering.store().load(*known);
    pointers[i] = &data[i];
  }
  std::vector<Tensor> views(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] == ValueId::none) continue;
    const auto view = node.op->view(node.call, pointers, lowering.info(node.outputs[k]), k);
    if (!view) return false;
    if (!lowering.optimized() && !view->is_contiguous()) return false;
    views[k] = *view;
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] == ValueId::none) continue;
    const Tensor& view = views[k];
    lowering.places.define(node.outputs[k], view_of(from, view.desc(), view.bytes() - data[0].tensor.bytes()));
    lowering.steps.note_view(view.desc());
  }
  return true;
}

/// The order in which the op table's kernel writes an output where none was planned.
Order own_order(Lowering& lowering, const ProgramNode& node, const std::vector<Place>& inputs, const DatumInfo& output) {
  if (!lowering.optimized() || output.dims.size() < 3) return Order::contiguous;
  const LayoutRule rule = node.op->layout;
  if (rule != LayoutRule::agnostic && rule != LayoutRule::axis_mapped && rule != LayoutRule::wants) return Order::contiguous;
  for (const Place& input : inputs) {
    if (!input || input.desc.dims.size() != output.dims.size()) continue;
    if (is_ordered(input.desc, Order::contiguous)) continue;
    if (is_ordered(input.desc, Order::channels_last)) return Order::channels_last;
  }
  return Order::contiguous;
}

int64_t own_macs(Lowering& lowering, const ProgramNode& node) {
  const auto dims = [&](ValueId value) { return value == ValueId::none ? nullptr : &lowering.info(value).dims; };
  const auto dims_of = [&](const Value* value) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.node->input(i) == value) return dims(node.inputs[i]);
    }
    return dims(node.output(0));
  };
  return macs_of(*node.node, dims_of).value_or(0);
}

}  // namespace

void lower_own(Lowering& lowering, const ProgramNode& node) {
  if (lower_as_view(lowering, node)) return;
  std::vector<Place> inputs(node.inputs.size());
  std::vector<OpOperand> input_operands(node.inputs.size()), output_operands(node.outputs.size());
  std::vector<Place> bound;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i];
    if (value == ValueId::none) continue;
    if (lowering.is_tensor(value)) {
      inputs[i] = lowering.places.of(value);
      if (node.op->layout == LayoutRule::barrier) inputs[i] = lowering.places.dense(value, Order::contiguous);
      input_operands[i].desc = &inputs[i].desc;
      bound.push_back(inputs[i]);
    } else {
      input_operands[i].slot = lowering.steps.slot_datum(lowering.places.read_slot(value));
    }
  }
  std::vector<Place> outputs(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const ValueId value = node.outputs[k];
    if (value == ValueId::none) continue;
    const DatumInfo& info = lowering.info(value);
    if (info.kind == Datum::Kind::tensor) {
      const TensorDesc desc = lowering.result_desc(node, k, own_order(lowering, node, inputs, info));
      outputs[k] = lowering.steps.new_place(desc);
      output_operands[k].desc = &outputs[k].desc;
      bound.push_back(outputs[k]);
    } else {
      output_operands[k].slot = lowering.steps.slot_datum(lowering.places.slot(value));
    }
  }
  lowering.steps.emit(make_op_kernel(node, input_operands, output_operands), bound);
  lowering.steps.count_macs(own_macs(lowering, node));
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (outputs[k]) lowering.places.define(node.outputs[k], outputs[k]);
  }
}

}  // namespace relayout::exec
