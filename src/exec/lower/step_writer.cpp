// Adds steps with their buffers and descriptions to a plan, and keeps short ones on one thread.

#include "base/indexed.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/lowering.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
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
