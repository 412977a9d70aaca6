// Lowers operators that only move elements, also into and out of sequences, to views where strides allow it, else to one copy.

#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/kernels/gather.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

bool is_channels_last(const TensorDesc& desc) {
  return !is_ordered(desc, Order::contiguous) && is_ordered(desc, Order::channels_last);
}

}  // namespace

/// In a group `in_parts` the operands hold the results of the nodes downstream already, so that the last node's output is their Concat.
bool lower_concat(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& result = lowering.info(node.outputs[0]);
  if (result.type == DataType::string || element_count(result.dims) == 0 || result.dims.empty()) return false;
  const int64_t axis = from_front(node.call.attributes.integer("axis", 1), std::ssize(result.dims));
  std::vector<Place> places;
  Order order = Order::contiguous;
  for (const ValueId input : node.inputs) {
    if (element_count(lowering.info(input).dims) == 0) return false;
    places.push_back(lowering.places.of(input));
    if (lowering.optimized() && is_channels_last(places.back().desc)) order = Order::channels_last;
  }
  std::vector<TensorDesc> sources;
  sources.reserve(places.size());
  for (const Place& place : places) sources.push_back(place.desc);
  const Place destination = lowering.steps.new_place(lowering.result_desc(node, 0, order));
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(result.dims)) / step_rates::kMovedPerNanosecond);
  auto kernel = make_concat_kernel(sources, destination.desc, as_size(axis), Team{lowering.settings.library, threads});
  places.push_back(destination);
  lowering.steps.emit(std::move(kernel), places, threads);
  lowering.places.define(group.output(), destination);
  return true;
}

void emit_copy(Lowering& lowering, const Place& source, const Place& destination, const TensorDesc& through) {
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(source.desc.dims)) / step_rates::kMovedPerNanosecond);
  lowering.steps.emit(make_copy_kernel(source.desc, through, {lowering.settings.library, threads}), {source, destination}, threads);
}

namespace {

/// Copies a value that cannot be a view.
void emit_copy(Lowering& lowering, ValueId value, const Place& source, const Place& destination, const TensorDesc& through) {
  emit_copy(lowering, source, destination, through);
  lowering.places.define(value, destination);
}

/// `place` under other dims of the same elements in row-major order, when strides can express them.
std::optional<Place> reshaped(const Place& place, const Dims& dims) {
  const auto strides = reshape_strides(place.desc, dims);
  if (!strides) return std::nullopt;
  return view_of(place, TensorDesc{place.desc.type, dims, *strides}, 0);
}

}  // namespace

bool lower_reshape(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const ValueId input = node.inputs[0];
  if (!lowering.is_tensor(input) || lowering.info(input).type == DataType::string) return false;
  const DatumInfo& result = lowering.info(node.outputs[0]);
  const Place source = lowering.places.of(input);
  const auto view = lowering.settings.observe ? std::nullopt : reshaped(source, result.dims);
  if (view && (lowering.optimized() || is_ordered(view->desc, Order::contiguous))) {
    lowering.places.define(node.outputs[0], *view);
    lowering.steps.note_view(view->desc);
    return true;
  }
  if (lowering.made(node, 0)) {
    const TensorDesc planned = lowering.result_desc(node, 0, Order::contiguous);
    if (const auto strides = reshape_strides(planned, source.desc.dims)) {
      const Place destination = lowering.steps.new_place(planned);
      emit_copy(lowering, node.outputs[0], source, destination, TensorDesc{planned.type, source.desc.dims, *strides});
      return true;
    }
  }
  // Channels that are innermost stay innermost where the destination can be viewed under the source's dims.
  const bool inside = lowering.optimized() && result.dims.size() >= 4 && source.desc.dims.back() != 1 && source.desc.strides.back() != 1;
  for (const Order order : {Order::channels_last, Order::contiguous}) {
    if (order == Order::channels_last && !inside) continue;
    const TensorDesc desc = ordered(result.type, result.dims, order);
    const auto strides = reshape_strides(desc, source.desc.dims);
    if (!strides) continue;
    const Place destination = lowering.steps.new_place(desc);
    emit_copy(lowering, node.outputs[0], source, destination, TensorDesc{desc.type, source.desc.dims, *strides});
    return true;
  }
  return false;
}

bool lower_transpose(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& result = lowering.info(node.outputs[0]);
  if (result.type == DataType::string) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  Dims permutation = node.call.attributes.integers("perm");
  if (permutation.empty()) {
    for (auto i = static_cast<int64_t>(result.dims.size()); i-- > 0;) permutation.push_back(i);
  }
  TensorDesc view{result.type, result.dims, {}};
  for (const int64_t from : permutation) view.strides.push_back(element_at(source.desc.strides, from));
  const Place permuted = view_of(source, view, 0);
  if (define_view(lowering, node, permuted)) lowering.steps.note_view(view);
  return true;
}

bool define_view(Lowering& lowering, const ProgramNode& node, const Place& view) {
  const auto planned = lowering.made(node, 0);
  const TensorDesc& desc = view.desc;
  const bool is_right =
      planned ? layout::order_of_strides(desc.dims, desc.strides) == planned : lowering.optimized() || is_ordered(desc, Order::contiguous);
  if (is_right && !lowering.settings.observe) {
    lowering.places.define(node.outputs[0], view);
    return true;
  }
  const Place destination = lowering.steps.new_place(lowering.result_desc(node, 0, Order::contiguous));
  emit_copy(lowering, node.outputs[0], view, destination, destination.desc);
  return false;
}

/// DepthToSpace and SpaceToDepth.
bool lower_blocks(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& result = lowering.info(node.outputs[0]);
  if (result.type == DataType::string || element_count(result.dims) == 0) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const bool inside = lowering.optimized() && is_channels_last(source.desc);
  const TensorDesc desc = lowering.result_desc(node, 0, inside ? Order::channels_last : Order::contiguous);
  const Place destination = lowering.steps.new_place(desc);
  const auto views = block_views(node.call, Tensor(source.desc, nullptr, nullptr), Tensor(desc, nullptr, nullptr));
  emit_copy(lowering, node.outputs[0], view_of(source, views.from.desc(), 0), destination, views.to.desc());
  return true;
}

bool lower_tile(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& result = lowering.info(node.outputs[0]);
  if (result.type == DataType::string || element_count(result.dims) == 0) return false;
  const Place source = lowering.places.of(node.inputs[0]);
  const Place destination = lowering.steps.new_place(lowering.result_desc(node, 0, Order::contiguous));
  TensorDesc from{result.type, {}, {}}, to = from;  // each dim as repetitions of the source's
  for (std::size_t i = 0; i < result.dims.size(); ++i) {
    const int64_t dim = source.desc.dims[i], stride = destination.desc.strides[i];
    from.dims.insert(from.dims.end(), {result.dims[i] / dim, dim});
    from.strides.insert(from.strides.end(), {0, source.desc.strides[i]});
    to.strides.insert(to.strides.end(), {stride * dim, stride});
  }
  to.dims = from.dims;
  emit_copy(lowering, node.outputs[0], view_of(source, std::move(from), 0), destination, to);
  return true;
}

// Sequences whose elements are read at known positions: views of the original tensors.
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

// Elements at indices along an axis.
namespace {

/// Dense tensors in one order as lines along the axis; nothing where they are not. The second one has the dims of the indices.
std::optional<IndexedLines> indexed_lines(const TensorDesc& whole, const TensorDesc& indices, const TensorDesc& other, int64_t axis) {
  const auto order = layout::order_of_strides(indices.dims, indices.strides);
  if (!order || std::ranges::find(*order, axis) == order->end() || order != layout::order_of_strides(whole.dims, whole.strides)) return {};
  for (const TensorDesc* const desc : {&whole, &indices, &other}) {
    if (!layout::is_dense(desc->dims, desc->strides) || layout::order_of_strides(desc->dims, desc->strides) != order) return {};
  }
  IndexedLines out{1, element_at(whole.dims, axis), element_at(indices.dims, axis), 1};
  bool is_inner = false;
  for (const int64_t dim : *order) {
    if (dim == axis) {
      is_inner = true;
    } else if (element_at(whole.dims, dim) != element_at(indices.dims, dim)) {
      return {};
    } else {
      (is_inner ? out.inner : out.outer) *= element_at(whole.dims, dim);
    }
  }
  return out;
}

/// The one number that a constant repeats in all elements; nothing where it is no such constant.
std::optional<Place> repeated_number(Lowering& lowering, ValueId value) {
  KnownConstant* const known = lowering.constant(value);
  if (known == nullptr) return std::nullopt;
  const Tensor all = contiguous(lowering.store().load(*known));
  const std::span<const float> numbers(all.data<float>(), as_size(all.element_count()));
  if (std::ranges::any_of(numbers, [&](float one) { return one != numbers.front(); })) return std::nullopt;
  Tensor number(DataType::float32, {});
  *number.data<float>() = numbers.front();
  return lowering.steps.fixed_place(number);
}

/// What a constant subtracts from the indices of each line along an axis, in their order; nothing where it differs within a line.
std::optional<std::vector<int64_t>> begins_of(Lowering& lowering, ValueId value, const TensorDesc& indices, int64_t axis) {
  const Tensor given = contiguous(lowering.store().load(*lowering.constant(value)));
  TensorDesc lines = broadcast(given.desc(), indices.dims);
  if (element_at(lines.strides, axis) != 0) return std::nullopt;
  lines.dims[as_size(axis)] = 1;
  Dims order = *layout::order_of_strides(indices.dims, indices.strides);
  for (int64_t dim = 0; dim < std::ssize(indices.dims); ++dim) {
    if (std::ranges::find(order, dim) == order.end()) order.push_back(dim);
  }
  const Tensor all = contiguous(given.view(lines.dims, lines.strides).transposed(order));
  return std::vector<int64_t>(all.data<int64_t>(), all.data<int64_t>() + all.element_count());
}

}  // namespace

/// GatherElements, and additions by ScatterElements, of f32 in the order of their indices, from which a node in front may subtract.
bool lower_indexed(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.last();
  const bool subtracts = group.nodes.size() > 1;
  const bool adds = node.node->op_type() == "ScatterElements";
  const DatumInfo &data = lowering.info(node.inputs[0]), &indices = lowering.info(node.inputs[1]);
  if (!lowering.optimized() || data.type != DataType::float32 || indices.type != DataType::int64) return false;
  if (data.dims.empty() || element_count(data.dims) == 0 || element_count(indices.dims) == 0) return false;
  if (adds && node.call.attributes.text("reduction", "none") != "add") return false;
  const int64_t axis = from_front(node.call.attributes.integer("axis", 0), std::ssize(data.dims));
  const Place at = lowering.places.of(subtracts ? group.anchor().inputs[0] : node.inputs[1]),
              source = lowering.places.of(node.inputs[adds ? 2 : 0]);
  const Order order = is_channels_last(at.desc) ? Order::channels_last : Order::contiguous;
  const TensorDesc result = lowering.result_desc(node, 0, order);
  const auto lines = adds ? indexed_lines(result, at.desc, source.desc, axis) : indexed_lines(source.desc, at.desc, result, axis);
  if (!lines) return false;
  auto begins = subtracts ? begins_of(lowering, group.anchor().inputs[1], at.desc, axis) : std::vector<int64_t>();
  if (!begins) return false;
  const Place destination = lowering.steps.new_place(result);
  std::vector<Place> places{at, source};
  IndexedUse use = adds ? IndexedUse::add : IndexedUse::read;
  if (const auto number = adds ? repeated_number(lowering, node.inputs[0]) : std::nullopt) {
    use = IndexedUse::add_to_number;
    places.push_back(*number);
  } else if (adds) {
    lowering.steps.copy(lowering.places.of(node.inputs[0]), destination, StepKind::inside);
  }
  places.push_back(destination);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(indices.dims)) / step_rates::kMovedPerNanosecond);
  lowering.steps.emit(make_indexed_kernel(*lines, use, std::move(*begins), node, {lowering.settings.library, threads}), places, threads);
  lowering.places.define(group.output(), destination);
  return true;
}

}  // namespace relayout::exec
