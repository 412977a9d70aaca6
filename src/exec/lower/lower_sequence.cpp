// Lowers sequences whose elements are read at known positions to views of the original tensors.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/fuse.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Whether a sequence is only read at known positions, and within this plan: then it need not exist.
bool is_only_indexed(Lowering& lowering, ValueId value) {
  if (lowering.settings.observe || lowering.program.is_output(value)) return false;
  const auto consumers = lowering.program.consumers(value);
  return std::ranges::all_of(consumers, [&](NodeId consumer) {
    const ProgramNode& node = lowering.program.nodes()[consumer];
    return lowering.is_in_plan(consumer) && node.node->op_type() == "SequenceAt" && node.inputs[0] == value &&
           small_constant(lowering.facts, node.input(1)).has_value();
  });
}

/// A part of a tensor, in place when optimized, else a contiguous copy.
Place part_of(Lowering& lowering, const Place& source, TensorDesc desc, int64_t offset_bytes) {
  Place view = view_of(source, std::move(desc), offset_bytes);
  if (lowering.optimized() || is_ordered(view.desc, Order::contiguous)) return view;
  const Place out = lowering.steps.new_place(ordered(view.desc.type, view.desc.dims, Order::contiguous));
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(view.desc.dims)) / step_rates::kMovedPerNanosecond);
  lowering.steps.emit(make_copy_kernel(view.desc, out.desc, {lowering.settings.library, threads}), {view, out}, threads);
  return out;
}

}  // namespace

bool lower_split_to_sequence(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const ValueId sequence = node.outputs[0];
  const std::vector<DatumInfo>& elements = lowering.info(sequence).elements;
  if (lowering.info(node.inputs[0]).type == DataType::string || elements.empty() || !is_only_indexed(lowering, sequence)) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const int64_t axis = from_front(node.call.attributes.integer("axis", 0), std::ssize(source.desc.dims));
  const auto along = as_size(axis);
  std::vector<Place> places;
  int64_t start = 0;
  for (const DatumInfo& element : elements) {
    TensorDesc desc{element.type, element.dims, source.desc.strides};
    const bool keeps_axis = element.dims.size() == source.desc.dims.size();
    if (!keeps_axis) desc.strides.erase(desc.strides.begin() + axis);
    const int64_t offset = start * source.desc.strides[along] * static_cast<int64_t>(memory_size(element.type));
    places.push_back(part_of(lowering, source, std::move(desc), offset));
    start += keeps_axis ? element.dims[along] : 1;
  }
  lowering.places.define_elements(sequence, std::move(places));
  return true;
}

bool lower_sequence_construct(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (!is_only_indexed(lowering, node.outputs[0])) return false;
  std::vector<Place> places;
  places.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) places.push_back(lowering.places.of(input));
  lowering.places.define_elements(node.outputs[0], std::move(places));
  return true;
}

bool lower_sequence_at(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const std::vector<Place>* const elements = lowering.places.elements(node.inputs[0]);
  if (elements == nullptr) return false;
  const auto position = small_constant(lowering.facts, node.inputs[1]);
  // In range: the op table has checked it.
  const Place place = element_at(*elements, from_front(static_cast<int64_t>(position->front()), std::ssize(*elements)));
  lowering.places.define(node.outputs[0], place);
  lowering.steps.note_view(place.desc);
  return true;
}

}  // namespace relayout::exec
