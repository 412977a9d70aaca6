// Turns groups of nodes into steps: knows where each value lies, makes buffers, inserts copies.
#include "exec/lower/lowering.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/arena.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/op_kernel.h"
#include "exec/lower/rates.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/macs.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

std::string_view name_of_layout(const TensorDesc& desc) {
  if (is_ordered(desc, Order::contiguous)) return "contiguous";
  return is_ordered(desc, Order::channels_last) ? "channels-last" : "strided";
}

/// The same as an order of dims.
AxisOrder axes_of(Order order, const Dims& dims) {
  return order_of(order == Order::contiguous || dims.size() < 3 ? contiguous_axes(dims.size()) : channels_last_axes(dims.size()), dims);
}

/// Whether strides have the dims in this order, with gaps, backwards or not; those that are repeated (stride 0) do not count.
bool follows(const TensorDesc& desc, const AxisOrder& order) {
  int64_t inner = 0;  // elements from the first to the last of what lies inside
  for (std::size_t i = order.size(); i-- > 0;) {
    const int64_t stride = std::abs(desc.strides[static_cast<std::size_t>(order[i])]);
    if (stride == 0) continue;
    if (stride < inner) return false;
    inner = stride * (desc.dims[static_cast<std::size_t>(order[i])] - 1) + std::max<int64_t>(inner, 1);
  }
  return true;
}

/// oneDNN's reorder takes f32 with positive strides, and is slower than the own copy for images of few channels.
bool suits_library(const TensorDesc& source) {
  if (source.type != DataType::float32 || source.dims.size() < 3 || source.dims.size() > 6 || source.dims[1] <= rates::kFewCopyChannels)
    return false;
  return std::ranges::all_of(source.strides, [](int64_t stride) { return stride > 0; });
}

int64_t byte_count(const TensorDesc& desc) {
  return element_count(desc.dims) * static_cast<int64_t>(memory_size(desc.type));
}

/// Of the elements that there are: one for a dim that is repeated.
int64_t stored_bytes(const TensorDesc& desc) {
  auto bytes = static_cast<int64_t>(memory_size(desc.type));
  for (std::size_t i = 0; i < desc.dims.size(); ++i) bytes *= desc.strides[i] == 0 ? std::min<int64_t>(desc.dims[i], 1) : desc.dims[i];
  return bytes;
}

}  // namespace

TensorDesc ordered(DataType type, const Dims& dims, Order order) {
  TensorDesc desc{type, dims, contiguous_strides(dims)};
  if (order == Order::contiguous || dims.size() < 3) return desc;
  int64_t stride = std::max<int64_t>(dims[1], 1);
  desc.strides[1] = 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    desc.strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  desc.strides[0] = stride;
  return desc;
}

bool is_ordered(const TensorDesc& desc, Order order) {
  if (std::ranges::find(desc.dims, 0) != desc.dims.end()) return true;
  const TensorDesc wanted = ordered(desc.type, desc.dims, order);
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] != 1 && desc.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

TensorDesc ordered(DataType type, const Dims& dims, const AxisOrder& order) {
  return {type, dims, strides_of(order, dims)};
}

Lowering::Lowering(const Program& program, std::vector<ValueState>& states, ConstantStore& store, LoweringSettings settings, Plan& plan)
    : program_(program), states_(states), store_(store), settings_(settings), plan_(plan), where_(program.values().size()) {
  pending_.resize(program.values().size());
  for (std::size_t i = 0; i < pending_.size(); ++i) pending_[i] = program.readers(static_cast<int>(i));
}

void Lowering::skip_folded(int first, const Inference& inference) {
  const auto release = [&](int node) {
    program_.nodes()[static_cast<std::size_t>(node)].for_each_read([&](int value) { --pending_[static_cast<std::size_t>(value)]; });
  };
  for (int node = 0; node < first; ++node) release(node);
  std::size_t kept = 0;
  for (int node = first; node < inference.next; ++node) {
    if (kept < inference.nodes.size() && inference.nodes[kept] == node) {
      ++kept;
    } else {
      release(node);
    }
  }
}

const DatumInfo& Lowering::info(int value) const {
  return *states_[static_cast<std::size_t>(value)].info;
}

KnownConstant* Lowering::constant(int value) const {
  return states_[static_cast<std::size_t>(value)].constant.get();
}

int Lowering::new_buffer(Buffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  pending_in_.push_back(0);
  return static_cast<int>(plan_.buffers.size()) - 1;
}

Place Lowering::new_place(TensorDesc desc) {
  if (desc.type == DataType::string) return fixed_place(Tensor(desc.type, desc.dims));
  Buffer buffer;
  buffer.bytes = byte_count(desc);
  return {new_buffer(std::move(buffer)), 0, std::move(desc)};
}

Place Lowering::fixed_place(const Tensor& tensor) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::fixed;
  buffer.owner = tensor.owner();
  buffer.data = tensor.bytes();
  return {new_buffer(std::move(buffer)), 0, tensor.desc()};
}

Place Lowering::fixed_place(std::shared_ptr<void> memory, int64_t bytes) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::fixed;
  buffer.bytes = bytes;
  buffer.data = static_cast<std::byte*>(memory.get());
  buffer.owner = std::move(memory);
  return {new_buffer(std::move(buffer)), 0, TensorDesc{DataType::uint8, {bytes}, {1}}};
}

Place Lowering::view_of(const Place& place, TensorDesc desc, int64_t offset_bytes) const {
  return {place.buffer, place.offset + offset_bytes, std::move(desc)};
}

/// Notes that a value lies in a buffer.
void Lowering::settle(int value, int buffer) {
  std::vector<int>& buffers = where(value).buffers;
  if (std::ranges::find(buffers, buffer) != buffers.end()) return;
  buffers.push_back(buffer);
  pending_in_[static_cast<std::size_t>(buffer)] += pending(value);
}

void Lowering::define(int value, Place place) {
  settle(value, place.buffer);
  where(value).places.push_back(std::move(place));
}

void Lowering::define_elements(int value, std::vector<Place> places) {
  for (const Place& place : places) settle(value, place.buffer);
  where(value).elements = std::move(places);
}

const std::vector<Place>* Lowering::elements(int value) const {
  const Where& at = where_[static_cast<std::size_t>(value)];
  return at.elements.empty() ? nullptr : &at.elements;
}

Place Lowering::import_value(int value) {
  const ValueState& state = states_[static_cast<std::size_t>(value)];
  TensorDesc desc{info(value).type, info(value).dims, {}};
  desc.strides = state.strides ? *state.strides : contiguous_strides(desc.dims);
  Buffer buffer;
  buffer.kind = Buffer::Kind::external;
  const Place place{new_buffer(std::move(buffer)), 0, std::move(desc)};
  plan_.imports.push_back({value, place, -1});
  where(value).imported = true;
  return place;
}

Place Lowering::place(int value) {
  if (where(value).places.empty()) {
    KnownConstant* const known = constant(value);
    define(value, known != nullptr ? fixed_place(store_.load(*known)) : import_value(value));
  }
  return where(value).places[where(value).chosen];
}

Place Lowering::dense(int value, Order order) {
  return dense_as(value, axes_of(order, info(value).dims), !optimized());
}

Place Lowering::dense(int value, const AxisOrder& order) {
  return dense_as(value, order, false);
}

Place Lowering::dense_inside(int value, Order order) {
  return dense_as(value, axes_of(order, info(value).dims), true);
}

Place Lowering::dense_as(int value, const AxisOrder& order, bool inside) {
  const Place lies = place(value);
  const TensorDesc wanted = ordered(lies.desc.type, lies.desc.dims, order);
  const auto is_wanted = [&](const TensorDesc& desc) {
    if (std::ranges::find(desc.dims, 0) != desc.dims.end()) return true;
    for (const int64_t axis : order) {
      if (desc.strides[static_cast<std::size_t>(axis)] != wanted.strides[static_cast<std::size_t>(axis)]) return false;
    }
    return true;
  };
  for (const Place& candidate : where(value).places) {
    if (!is_wanted(candidate.desc)) continue;
    Place out = candidate;
    out.desc = wanted;
    return out;
  }
  if (KnownConstant* const known = constant(value)) {
    const Tensor source = store_.load(*known);
    Tensor copied(wanted);
    const auto kernel = make_copy_kernel(source.desc(), copied.desc(), {});
    kernel->bind(0, source.bytes());
    kernel->bind(1, copied.bytes());
    kernel->run();
    define(value, fixed_place(copied));
    return where(value).places.back();
  }
  // A view with gaps, or one that nobody planned an order for, only becomes dense.
  const bool turns = guide_->has_order(value) && !follows(lies.desc, order);
  const Place out = new_place(wanted);
  copy(lies, out, inside ? Copy::inside : turns ? Copy::reorder : Copy::pack);
  // A copy made inside one node is not offered to other readers.
  if (!inside || !optimized()) define(value, out);
  return out;
}

void Lowering::follow(const LayoutGuide& guide) {
  guide_ = &guide;
  plan_.info.planned_reorders = guide.planned_reorders();
  plan_.info.planned_packs = guide.planned_packs();
}

std::optional<Order> Lowering::planned_order(const ProgramNode& node) const {
  const auto ordered = guide_->is_ordered(number_of(node));
  if (!ordered) return std::nullopt;
  return *ordered ? Order::channels_last : Order::contiguous;
}

std::optional<AxisOrder> Lowering::made(const ProgramNode& node, std::size_t output) const {
  return guide_->made(number_of(node), output);
}

TensorDesc Lowering::result_desc(const ProgramNode& node, std::size_t output, Order otherwise) const {
  const DatumInfo& result = info(node.outputs[output]);
  const auto order = made(node, output);
  return order ? ordered(result.type, result.dims, *order) : ordered(result.type, result.dims, otherwise);
}

/// Each operand of the group where it lies in the order that its reader wants, copied when it lies in none such.
void Lowering::choose_places(const Group& group) {
  int inside = -1;  // what a node of the group hands to the next
  for (const ProgramNode* node : group.nodes) {
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const int value = node->inputs[i];
      if (value < 0 || value == inside || !is_tensor(value) || constant(value) != nullptr) continue;
      where(value).chosen = 0;
      const auto wanted = guide_->wanted(number_of(*node), i);
      if (!wanted) continue;
      (void)place(value);
      const auto& places = where(value).places;
      const auto found = std::ranges::find_if(places, [&](const Place& candidate) { return follows(candidate.desc, *wanted); });
      if (found != places.end()) {
        where(value).chosen = static_cast<std::size_t>(found - places.begin());
      } else {
        (void)dense(value, *wanted);
        where(value).chosen = where(value).places.size() - 1;
      }
    }
    inside = node->output(0);
  }
}

/// Callers get contiguous tensors.
void Lowering::hand_over_outputs() {
  group_ = nullptr;
  for (const int value : program_.outputs()) {
    handed_over_ = value;
    if (value < 0 || where(value).places.empty() || where(value).imported || constant(value) != nullptr) continue;
    if (!guide_->has_order(value)) continue;
    where(value).chosen = 0;
    const Place contiguous = dense(value, Order::contiguous);
    auto& places = where(value).places;
    const auto found = std::ranges::find_if(
        places, [&](const Place& candidate) { return candidate.buffer == contiguous.buffer && candidate.offset == contiguous.offset; });
    where(value).chosen = static_cast<std::size_t>(found - places.begin());
  }
}

bool Lowering::can_overwrite(const Place& place) const {
  const auto index = static_cast<std::size_t>(place.buffer);
  return plan_.buffers[index].kind == Buffer::Kind::arena && pending_in_[index] == 0;
}

int Lowering::slot(int value) {
  int& slot = where(value).slot;
  if (slot >= 0) return slot;
  slot = static_cast<int>(plan_.slots.size());
  plan_.slots.emplace_back().kind = info(value).kind;
  return slot;
}

int Lowering::read_slot(int value) {
  if (where(value).slot < 0) {
    plan_.imports.push_back({value, {}, slot(value)});
    where(value).imported = true;
  }
  return where(value).slot;
}

int Lowering::use_threads(double nanoseconds) {
  const int threads = nanoseconds < rates::kTeamNanoseconds ? 1 : settings_.threads;
  if (settings_.library != nullptr) settings_.library->set_threads(threads);
  return threads;
}

const std::string& name_of(const Node& node) {
  const Value* const first = node.output(0);
  return !node.name().empty() || first == nullptr ? node.name() : first->name();
}

void Lowering::describe_group(StepInfo& info) const {
  const bool is_named = !info.op_type.empty();
  for (const ProgramNode* part : group_->nodes) {
    if (part == group_->nodes.front()) {
      info.node = name_of(*part->node);
    } else {
      info.absorbed.push_back(name_of(*part->node));
    }
    info.operators.emplace_back(part->node->op_type());
    if (!is_named) info.op_type += (info.op_type.empty() ? "" : " + ") + part->node->op_type();
  }
  for (const int value : group_->anchor().inputs) {
    if (value >= 0 && is_tensor(value)) info.inputs.push_back(this->info(value).dims);
  }
}

StepInfo& Lowering::record(const TensorDesc& output, std::string_view implementation, std::string_view op_type) {
  StepInfo info;
  info.op_type = op_type;
  if (group_ == nullptr) {
    info.node = program_.values()[static_cast<std::size_t>(handed_over_)]->name();
  } else {
    describe_group(info);
  }
  info.implementation = implementation;
  info.layout = name_of_layout(output);
  info.dims = output.dims;
  info.output_bytes = byte_count(output);
  plan_.info.steps.push_back(std::move(info));
  return plan_.info.steps.back();
}

void Lowering::emit(std::unique_ptr<Kernel> kernel, const std::vector<Place>& places, int threads, std::string_view op_type) {
  Step step;
  const auto number = static_cast<int64_t>(plan_.steps.size());
  for (const Place& place : places) {
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(place.buffer)];
    buffer.first = std::min(buffer.first, number);
    buffer.last = std::max(buffer.last, number);
    step.operands.push_back({place.buffer, place.offset});
  }
  plan_.info.scratchpad_bytes = std::max(plan_.info.scratchpad_bytes, kernel->scratchpad_bytes());
  StepInfo& info = record(places.empty() ? TensorDesc{} : places.back().desc, kernel->implementation(), op_type);
  for (const Place& place : places) info.bytes += stored_bytes(place.desc);
  info.threads = threads;
  step.kernel = std::move(kernel);
  step.threads = threads;
  plan_.steps.push_back(std::move(step));
}

void Lowering::note_view(const TensorDesc& desc) {
  record(desc, "view", {}).kind = StepKind::view;
}

void Lowering::copy(const Place& from, const Place& to, Copy kind) {
  if (kind == Copy::reorder) ++plan_.info.reorders;
  if (kind == Copy::pack) ++plan_.info.packs;
  const std::string_view name = kind == Copy::pack ? "Pack" : "Reorder";
  const StepKind step_kind = kind == Copy::reorder ? StepKind::reorder : kind == Copy::pack ? StepKind::pack : StepKind::inside;
  const double bytes = static_cast<double>(byte_count(to.desc));
  const int threads = use_threads(bytes / rates::kStreamedBytesPerNanosecond);
  if (bytes > rates::kLibraryCopyBytes && settings_.library != nullptr && suits_library(from.desc)) {
    MadePrimitive made = settings_.library->make(Reorder{from.desc, to.desc});
    if (made.primitive) {
      auto kernel = make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::destination, 0}});
      emit(std::move(kernel), {from, to}, threads, name);
      plan_.info.steps.back().kind = step_kind;
      return;
    }
  }
  emit(make_copy_kernel(from.desc, to.desc, {settings_.library, threads}), {from, to}, threads, name);
  plan_.info.steps.back().kind = step_kind;
}

/// What the running group counted goes to its last step.
void Lowering::count_group() {
  const int64_t macs = plan_.info.macs - counted_macs_;
  counted_macs_ = plan_.info.macs;
  if (!plan_.info.steps.empty()) plan_.info.steps.back().macs += macs;
}

/// How much of the arena is in use at each step.
void Lowering::count_live_bytes() {
  std::vector<int64_t> changes(plan_.steps.size() + 2, 0);
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.kind != Buffer::Kind::arena || buffer.last < 0) continue;
    changes[static_cast<std::size_t>(buffer.first)] += buffer.bytes;
    changes[static_cast<std::size_t>(buffer.last) + 1] -= buffer.bytes;
  }
  int64_t live = 0;
  std::size_t step = 0;
  for (StepInfo& info : plan_.info.steps) {
    if (info.kind != StepKind::view) live += changes[step++];
    info.live_bytes = live;
  }
}

void Lowering::count_reads(const Group& group, int change) {
  for (const ProgramNode* node : group.nodes) {
    for (const int input : node->inputs) {
      if (input < 0) continue;
      pending_[static_cast<std::size_t>(input)] += change;
      for (const int buffer : where(input).buffers) pending_in_[static_cast<std::size_t>(buffer)] += change;
    }
  }
}

void Lowering::lower(const Group& group) {
  group_ = &group;
  count_reads(group, -1);
  choose_places(group);
  const LoweringEntry* entry = settings_.mode == Mode::reference ? nullptr : find_lowering(group.anchor().node->op_type());
  if (entry != nullptr && group.anchor().output(0) < 0 && !entry->any_outputs) entry = nullptr;
  try {
    if (entry == nullptr || !entry->lower(*this, group)) {
      if (group.nodes.size() > 1) {
        count_reads(group, +1);
        for (const ProgramNode* node : group.nodes) lower(Group{{node}});
        return;
      }
      lower_own(*this, group.anchor());
    }
  } catch (const Error& error) {
    const std::string label = group.anchor().node->label();
    if (std::string_view(error.what()).find(label) != std::string_view::npos) throw;
    throw Error(error.kind(), label + ": " + error.what(), error.hint());
  }
  count_group();
  if (settings_.observe) observe(group);
}

PlanPort Lowering::port_of(int value) {
  if (!is_tensor(value)) return {value, {}, slot(value)};
  return {value, place(value), -1};
}

void Lowering::observe(const Group& group) {
  const ProgramNode& last = group.last();
  observe(*last.node, last.outputs);
  for (const ProgramNode::Call& call : last.ended_calls) observe(*call.node, call.outputs);
}

void Lowering::observe(const Node& node, const std::vector<int>& outputs) {
  Observation observation{plan_.steps.size(), &node, {}};
  const auto step = static_cast<int64_t>(plan_.steps.size()) - 1;
  for (const int output : outputs) {
    const bool is_made = output >= 0 && constant(output) == nullptr;
    observation.outputs.push_back(is_made ? port_of(output) : PlanPort{});
    const int buffer = observation.outputs.back().place.buffer;
    if (buffer >= 0)
      plan_.buffers[static_cast<std::size_t>(buffer)].last = std::max(plan_.buffers[static_cast<std::size_t>(buffer)].last, step);
  }
  plan_.observations.push_back(std::move(observation));
}

/// Outputs that have a buffer of the arena for themselves, as the caller gets them, are made in the caller's memory at once.
void Lowering::find_results() {
  std::vector<int> uses(plan_.buffers.size(), 0);
  for (const int value : program_.outputs()) {
    if (value >= 0 && !where(value).places.empty()) ++uses[static_cast<std::size_t>(place(value).buffer)];
  }
  for (const PlanPort& port : plan_.exports) {
    if (!port.place || !program_.is_output(port.value)) continue;
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(port.place.buffer)];
    const TensorDesc& desc = port.place.desc;
    if (buffer.kind != Buffer::Kind::arena || uses[static_cast<std::size_t>(port.place.buffer)] != 1) continue;
    if (port.place.offset != 0 || byte_count(desc) != buffer.bytes || !is_ordered(desc, Order::contiguous)) continue;
    buffer.kind = Buffer::Kind::result;
    plan_.results.push_back(port);
  }
}

void Lowering::finish() {
  hand_over_outputs();
  const auto end = static_cast<int64_t>(plan_.steps.size());
  for (std::size_t i = 0; i < where_.size(); ++i) {
    const Where& at = where_[i];
    const auto value = static_cast<int>(i);
    if ((at.places.empty() && at.slot < 0) || at.imported || pending(value) == 0 || constant(value) != nullptr) continue;
    const PlanPort port = port_of(value);
    plan_.exports.push_back(port);
    if (!port.place) continue;
    states_[i].strides = port.place.desc.strides;
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(port.place.buffer)];
    buffer.first = std::min(buffer.first, end);
    buffer.last = end;
  }
  find_results();
  std::vector<Lifetime> lifetimes;
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.kind == Buffer::Kind::arena)
      lifetimes.push_back({buffer.bytes, std::min(buffer.first, end), std::max<int64_t>(buffer.last, 0)});
  }
  plan_.arena_layout = lay_out_arena(lifetimes);
  plan_.info.arena_bytes = plan_.arena_layout.bytes;
  count_live_bytes();
}

namespace {

/// The place as a tensor whose address only serves to be told apart from others of the same buffer.
Tensor phantom(const Place& place) {
  constexpr uintptr_t kBase = uintptr_t{1} << 44;
  return {place.desc, reinterpret_cast<std::byte*>(kBase), nullptr};  // NOLINT(performance-no-int-to-ptr): never followed
}

/// Outputs that are strides over the first input, where that is allowed in this mode.
bool lower_as_view(Lowering& lowering, const ProgramNode& node) {
  if (node.op->layout != LayoutRule::view || node.op->view == nullptr) return false;
  const int input = node.input(0);
  if (input < 0 || !lowering.is_tensor(input) || lowering.info(input).type == DataType::string) return false;
  std::vector<Datum> data(node.inputs.size());
  std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
  const Place from = lowering.place(input);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    KnownConstant* const known = i == 0 ? nullptr : lowering.constant(node.inputs[i]);
    if (i > 0 && known == nullptr) return false;
    data[i].tensor = i == 0 ? phantom(from) : lowering.store().load(*known);
    pointers[i] = &data[i];
  }
  std::vector<Tensor> views(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] < 0) continue;
    const auto view = node.op->view(node.call, pointers, lowering.info(node.outputs[k]), k);
    if (!view) return false;
    if (!lowering.optimized() && !view->is_contiguous()) return false;
    views[k] = *view;
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] < 0) continue;
    const Tensor& view = views[k];
    lowering.define(node.outputs[k], lowering.view_of(from, view.desc(), view.bytes() - data[0].tensor.bytes()));
    lowering.note_view(view.desc());
  }
  return true;
}

/// The order an own kernel's outputs are written in where nothing was planned.
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
  const auto dims = [&](int value) { return value < 0 ? nullptr : &lowering.info(value).dims; };
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
    const int value = node.inputs[i];
    if (value < 0) continue;
    if (lowering.is_tensor(value)) {
      inputs[i] = lowering.place(value);
      if (node.op->layout == LayoutRule::barrier) inputs[i] = lowering.dense(value, Order::contiguous);
      input_operands[i].desc = &inputs[i].desc;
      bound.push_back(inputs[i]);
    } else {
      input_operands[i].slot = lowering.slot_datum(lowering.read_slot(value));
    }
  }
  std::vector<Place> outputs(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const int value = node.outputs[k];
    if (value < 0) continue;
    const DatumInfo& info = lowering.info(value);
    if (info.kind == Datum::Kind::tensor) {
      const TensorDesc desc = lowering.result_desc(node, k, own_order(lowering, node, inputs, info));
      outputs[k] = lowering.new_place(desc);
      output_operands[k].desc = &outputs[k].desc;
      bound.push_back(outputs[k]);
    } else {
      output_operands[k].slot = lowering.slot_datum(lowering.slot(value));
    }
  }
  lowering.emit(make_op_kernel(node, input_operands, output_operands), bound);
  lowering.count_macs(own_macs(lowering, node));
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (outputs[k]) lowering.define(node.outputs[k], outputs[k]);
  }
}

}  // namespace relayout
