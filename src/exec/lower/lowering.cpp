// Turns groups into the steps of a plan, with their buffers and descriptions, and keeps short ones on one thread.

#include "exec/lower/lowering.h"

#include "base/indexed.h"
#include "base/positions.h"
#include "exec/arena.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/layout_guide.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Reads of each value that are still to come: all but those of nodes before the plan, and of nodes that inference folded.
IdVector<ValueId, int> reads_to_come(const Program& program, NodeId first, const Inference& inference) {
  IdVector<ValueId, int> out(program.values().size());
  for (const ValueId value : out.ids()) out[value] = program.readers(value);
  auto kept = inference.nodes.begin();
  for (const ProgramNode& node : program.nodes()) {
    if (node.id >= inference.next) break;
    if (node.id >= first && kept != inference.nodes.end() && *kept == node.id) {
      ++kept;
    } else {
      node.for_each_read([&](ValueId value) { --out[value]; });
    }
  }
  return out;
}

/// Place or slot of a value.
PlanPort port_of(const ValueFacts& facts, Places& places, ValueId value) {
  if (!facts.is_tensor(value)) return {value, {}, places.slot(value)};
  return {value, places.of(value), SlotId::none};
}

/// Shows the outputs of a node at this point of the plan to the observer.
void observe(Lowering& lowering, const ProgramNode& in, const Node& node, const std::vector<ValueId>& outputs, Plan& plan) {
  Observation& out = plan.observations.emplace_back(plan.steps.size(), &in, &node);
  const auto step = static_cast<int64_t>(plan.steps.size()) - 1;
  for (const ValueId value : outputs) {
    const bool is_made = value != ValueId::none && lowering.constant(value) == nullptr;
    const PlanPort& port = out.outputs.emplace_back(is_made ? port_of(lowering.facts, lowering.places, value) : PlanPort{});
    if (!port.place) continue;
    Buffer& buffer = plan.buffers[port.place.buffer];
    buffer.last = std::max(buffer.last, step);
  }
}

/// Shows a node's results to the observer, and those of the calls that end with it.
void show(Lowering& lowering, const ProgramNode& last, Plan& plan) {
  if (!lowering.settings.observe) return;
  if (last.stands_for == nullptr) observe(lowering, last, *last.node, last.outputs, plan);
  for (const ProgramNode::Call& call : last.ended_calls) observe(lowering, last, *call.node, call.outputs, plan);
}

/// The step of a node that is left out.
class NoKernel final : public Kernel {
 public:
  void bind(std::size_t, std::byte*) override {}
  void run() override {}
  [[nodiscard]] std::string implementation() const override { return "left out"; }
};

/// Memory for the outputs of a node that is left out, for an observer to write.
void lower_left_out(Lowering& lowering, const ProgramNode& node) {
  std::vector<Place> made;
  for (const ValueId value : node.outputs) {
    if (value == ValueId::none) continue;
    const DatumInfo& info = lowering.info(value);
    made.push_back(lowering.steps.new_place(ordered(info.type, info.dims, Order::contiguous)));
    lowering.places.define(value, made.back());
  }
  if (!made.empty()) lowering.steps.emit(std::make_unique<NoKernel>(), made);
}

/// The node of the graph itself that runs a node: the node, or the call of the function or body that it is in.
const Node& node_of_graph(const ProgramNode& node) {
  const Caller* caller = node.caller;
  while (caller != nullptr && caller->outer != nullptr) caller = caller->outer;
  return caller == nullptr ? *node.node : *caller->node;
}

void lower_group(Lowering& lowering, const Group& group, Plan& plan) {
  lowering.steps.begin(group, lowering.facts);
  lowering.places.begin(group);
  if (lowering.settings.leave_out != nullptr && (*lowering.settings.leave_out)(node_of_graph(group.last()))) {
    lower_left_out(lowering, group.last());
    return show(lowering, group.last(), plan);
  }
  const LoweringEntry* entry = lowering.settings.mode == Mode::reference ? nullptr : find_lowering(group.anchor().node->op_type());
  if (entry != nullptr && group.anchor().output(0) == ValueId::none && !entry->any_outputs) entry = nullptr;
  try {
    if (entry == nullptr || !entry->lower(lowering, group)) {
      if (group.nodes.size() > 1) {
        lowering.places.give_back(group);
        for (const ProgramNode* node : group.nodes) lower_group(lowering, Group{{node}}, plan);
        return;
      }
      lower_own(lowering, group.anchor());
      if (!group.downstream.empty()) lower_part(lowering, group);
    }
  } catch (const Error& error) {
    const std::string label = group.anchor().shown().label();
    if (std::string_view(error.what()).find(label) != std::string_view::npos) throw;
    throw Error(error.kind(), label + ": " + error.what(), error.hint());
  }
  if (group.downstream.empty()) show(lowering, group.last(), plan);
}

/// Values that are read after the plan. They live beyond the last step.
std::vector<PlanPort> exports_of(const ValueFacts& facts, Places& places, Plan& plan) {
  std::vector<PlanPort> out;
  const auto end = static_cast<int64_t>(plan.steps.size());
  for (const ValueId value : places.made_for_later()) {
    const PlanPort& port = out.emplace_back(port_of(facts, places, value));
    if (!port.place) continue;
    Buffer& buffer = plan.buffers[port.place.buffer];
    buffer.first = std::min(buffer.first, end);
    buffer.last = end;
  }
  return out;
}

/// Outputs that have an arena buffer to themselves, in the form that the caller gets, are written to the caller's memory directly.
std::vector<PlanPort> take_results(const Program& program, Places& places, Plan& plan) {
  std::vector<PlanPort> out;
  IdVector<BufferId, int> uses(plan.buffers.size(), 0);
  for (const ValueId value : program.outputs()) {
    if (value != ValueId::none && places.has_place(value)) ++uses[places.of(value).buffer];
  }
  for (const PlanPort& port : plan.exports) {
    if (!port.place || !program.is_output(port.value)) continue;
    Buffer& buffer = plan.buffers[port.place.buffer];
    const TensorDesc& desc = port.place.desc;
    if (buffer.kind != Buffer::Kind::arena || uses[port.place.buffer] != 1) continue;
    if (port.place.offset != 0 || byte_count(desc) != buffer.bytes || !is_ordered(desc, Order::contiguous)) continue;
    buffer.kind = Buffer::Kind::result;
    out.push_back(port);
  }
  return out;
}

/// Sets the bytes of the arena that are in use at each step.
void count_live_bytes(Plan& plan) {
  std::vector<int64_t> changes(plan.steps.size() + 2, 0);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != Buffer::Kind::arena || buffer.last < 0) continue;
    element_at(changes, buffer.first) += buffer.bytes;
    element_at(changes, buffer.last + 1) -= buffer.bytes;
  }
  int64_t live = 0;
  std::size_t step = 0;
  for (StepInfo& info : plan.info.steps) {
    if (info.kind != StepKind::view) live += changes[step++];
    info.live_bytes = live;
  }
}

ArenaLayout arena_of(const Plan& plan) {
  const auto end = static_cast<int64_t>(plan.steps.size());
  std::vector<Lifetime> lifetimes;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == Buffer::Kind::arena)
      lifetimes.push_back({buffer.bytes, std::min(buffer.first, end), std::max<int64_t>(buffer.last, 0)});
  }
  return lay_out_arena(lifetimes);
}

}  // namespace

std::optional<Order> Lowering::planned_order(const ProgramNode& node) const {
  const auto ordered = guide.is_ordered(node.id);
  if (!ordered) return std::nullopt;
  return *ordered ? Order::channels_last : Order::contiguous;
}

TensorDesc Lowering::result_desc(const ProgramNode& node, std::size_t output, Order otherwise) const {
  const DatumInfo& result = info(node.outputs[output]);
  const auto order = made(node, output);
  return order ? ordered(result.type, result.dims, *order) : ordered(result.type, result.dims, otherwise);
}

std::unique_ptr<Plan> lower(const Program& program, NodeId first, const Inference& inference, const ValueFacts& facts,
                            const LayoutGuide& guide, const std::vector<Group>& groups, const LoweringSettings& settings) {
  auto plan = std::make_unique<Plan>();
  plan->next = inference.next;
  plan->info.planned_reorders = guide.planned_reorders();
  plan->info.planned_packs = guide.planned_packs();
  StepWriter steps(*plan, settings.library, settings.threads);
  Places places(facts, guide, settings, ReadCounts(reads_to_come(program, first, inference)), steps);
  Lowering lowering{settings, program, inference, facts, guide, places, steps};
  for (const Group& group : groups) lower_group(lowering, group, *plan);
  for (const ValueId output : program.outputs()) {
    if (output == ValueId::none) continue;
    steps.begin(*program.values()[output]);
    places.hand_over(output);
  }
  plan->exports = exports_of(facts, places, *plan);
  plan->results = take_results(program, places, *plan);
  plan->arena_layout = arena_of(*plan);
  plan->info.arena_bytes = plan->arena_layout.bytes;
  count_live_bytes(*plan);
  return plan;
}

// Steps.
namespace {

/// Steps that take less on one thread stay there. Calling a thread that looks for work costs 1 µs, a sleeping one 5 to 20. Time with two
/// threads over the time with one, for limits of 25 and 12 µs: mobilenetv4_conv_small_050 0.72, 0.58; repghostnet_050 0.84, 0.71;
/// mobilenet_v3_small 0.67, 0.61. With another process alongside it is at most 1.02 at 12 µs (Zen 5, 2026-11-25).
constexpr double kTeamNanoseconds = 12'000;

std::string_view name_of_layout(const TensorDesc& desc) {
  if (is_ordered(desc, Order::contiguous)) return "contiguous";
  return is_ordered(desc, Order::channels_last) ? "channels-last" : "strided";
}

/// Bytes of the stored elements: a repeated dim counts as one.
int64_t stored_bytes(const TensorDesc& desc) {
  auto bytes = static_cast<int64_t>(memory_size(desc.type));
  for (std::size_t i = 0; i < desc.dims.size(); ++i) bytes *= desc.strides[i] == 0 ? std::min<int64_t>(desc.dims[i], 1) : desc.dims[i];
  return bytes;
}

}  // namespace

Place view_of(const Place& place, TensorDesc desc, int64_t offset_bytes) {
  return {place.buffer, place.offset + offset_bytes, std::move(desc)};
}

BufferId StepWriter::new_buffer(Buffer buffer) {
  return plan_.buffers.add(std::move(buffer));
}

Place StepWriter::new_place(TensorDesc desc) {
  if (desc.type == DataType::string) return fixed_place(Tensor(desc.type, desc.dims));
  Buffer buffer;
  buffer.bytes = byte_count(desc);
  return {new_buffer(std::move(buffer)), 0, std::move(desc)};
}

Place StepWriter::fixed_place(const Tensor& tensor) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::fixed;
  buffer.owner = tensor.owner();
  buffer.data = tensor.bytes();
  return {new_buffer(std::move(buffer)), 0, tensor.desc()};
}

Place StepWriter::fixed_place(std::shared_ptr<void> memory, int64_t bytes) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::fixed;
  buffer.bytes = bytes;
  buffer.data = static_cast<std::byte*>(memory.get());
  buffer.owner = std::move(memory);
  return {new_buffer(std::move(buffer)), 0, TensorDesc{DataType::uint8, {bytes}, {1}}};
}

Place StepWriter::fixed_place(TensorDesc desc, std::function<Tensor()> read) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::fixed;
  buffer.read = std::move(read);
  return {new_buffer(std::move(buffer)), 0, std::move(desc)};
}

Place StepWriter::import_place(ValueId value, TensorDesc desc) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::external;
  const Place place{new_buffer(std::move(buffer)), 0, std::move(desc)};
  plan_.imports.push_back({value, place, SlotId::none});
  return place;
}

SlotId StepWriter::new_slot(Datum::Kind kind) {
  plan_.slots.emplace_back().kind = kind;
  return id_at<SlotId>(plan_.slots.size() - 1);
}

SlotId StepWriter::import_slot(ValueId value, Datum::Kind kind) {
  const SlotId slot = new_slot(kind);
  plan_.imports.push_back({value, {}, slot});
  return slot;
}

bool StepWriter::is_in_arena(const Place& place) const {
  return plan_.buffers[place.buffer].kind == Buffer::Kind::arena;
}

int StepWriter::use_threads(double nanoseconds) {
  const int threads = nanoseconds < kTeamNanoseconds ? 1 : threads_;
  if (library_ != nullptr) library_->set_threads(threads);
  return threads;
}

void StepWriter::begin(const Group& group, const ValueFacts& facts) {
  about_ = {};
  std::vector<const ProgramNode*> parts{&group.anchor()};
  if (!group.in_parts) parts.insert(parts.end(), group.nodes.begin() + 1, group.nodes.end());
  parts.insert(parts.end(), group.downstream.begin(), group.downstream.end());
  for (const ProgramNode* part : parts) {
    const Node& node = *part->node;
    if (part == parts.front()) {
      about_.node = reported_name(part->shown());
      about_.callers = callers_of(*part);
    } else {
      about_.absorbed.push_back(full_name(callers_of(*part), reported_name(part->shown())));
    }
    about_.operators.push_back(node.op_type());
    about_.op_type += (about_.op_type.empty() ? "" : " + ") + node.op_type();
  }
  for (const ValueId value : group.anchor().inputs) {
    if (value != ValueId::none && facts.is_tensor(value)) about_.inputs.push_back(facts.info(value).dims);
  }
}

void StepWriter::begin(const Value& output) {
  about_ = {};
  about_.node = output.name();
}

StepInfo& StepWriter::record(const TensorDesc& output, std::string_view implementation) {
  StepInfo& info = plan_.info.steps.emplace_back(about_);
  info.implementation = implementation;
  info.layout = name_of_layout(output);
  info.dims = output.dims;
  info.output_bytes = byte_count(output);
  return info;
}

void StepWriter::emit(std::unique_ptr<Kernel> kernel, const std::vector<Place>& places, int threads) {
  Step step;
  const auto number = static_cast<int64_t>(plan_.steps.size());
  StepInfo& info = record(places.empty() ? TensorDesc{} : places.back().desc, kernel->implementation());
  info.threads = threads;
  for (const Place& place : places) {
    Buffer& buffer = plan_.buffers[place.buffer];
    buffer.first = std::min(buffer.first, number);
    buffer.last = std::max(buffer.last, number);
    step.operands.push_back({place.buffer, place.offset});
    info.bytes += stored_bytes(place.desc);
  }
  plan_.info.scratchpad_bytes = std::max(plan_.info.scratchpad_bytes, kernel->scratchpad_bytes());
  step.kernel = std::move(kernel);
  step.threads = threads;
  plan_.steps.push_back(std::move(step));
}

void StepWriter::copy(const Place& from, const Place& to, StepKind kind) {
  if (kind == StepKind::reorder) ++plan_.info.reorders;
  if (kind == StepKind::pack) ++plan_.info.packs;
  const int threads = use_threads(static_cast<double>(byte_count(to.desc)) / step_rates::kStreamedBytesPerNanosecond);
  emit(choose_copy(from.desc, to.desc, {library_, threads}), {from, to}, threads);
  StepInfo& info = plan_.info.steps.back();
  info.kind = kind;
  info.op_type = kind == StepKind::pack ? "Pack" : "Reorder";
}

}  // namespace relayout::exec
