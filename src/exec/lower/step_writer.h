#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/value_facts.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// A view of the tensor at `place`.
[[nodiscard]] Place view_of(const Place& place, TensorDesc desc, int64_t offset_bytes);

/// Writes a plan: buffers, slots, and steps over them.
class StepWriter {
 public:
  /// `library`: null in reference mode.
  StepWriter(Plan& plan, PrimitiveLibrary* library, int threads) : plan_(plan), library_(library), threads_(threads) {}

  /// Assigns the steps from here on to this group.
  void begin(const Group& group, const ValueFacts& facts);
  /// Assigns the steps from here on to the copy of this output of the graph.
  void begin(const Value& output);

  [[nodiscard]] Place new_place(TensorDesc desc);
  [[nodiscard]] Place fixed_place(const Tensor& tensor);
  [[nodiscard]] Place fixed_place(std::shared_ptr<void> memory, int64_t bytes);
  /// Place of a value that exists before the plan runs.
  [[nodiscard]] Place import_place(ValueId value, TensorDesc desc);
  /// A slot for a value that is no plain tensor. import_slot: one filled with a value that exists before the plan runs.
  [[nodiscard]] SlotId new_slot(Datum::Kind kind);
  [[nodiscard]] SlotId import_slot(ValueId value, Datum::Kind kind);
  [[nodiscard]] Datum* slot_datum(SlotId slot) { return &plan_.slots[index_of(slot)]; }
  /// Whether a place is in memory that steps may write over.
  [[nodiscard]] bool is_in_arena(const Place& place) const;

  /// Appends a step. `places` in the order of the kernel's operands.
  void emit(std::unique_ptr<Kernel> kernel, const std::vector<Place>& places, int threads = 1);
  /// Describes a step at which nothing runs.
  void note_view(const TensorDesc& desc) { record(desc, "view").kind = StepKind::view; }
  /// Copies between two places of the same dims: a reorder, a pack, or a copy inside a node.
  void copy(const Place& from, const Place& to, StepKind kind);
  /// Multiply-accumulates of the step appended last.
  void count_macs(int64_t macs) {
    plan_.info.macs += macs;
    plan_.info.steps.back().macs += macs;
  }
  void count_packed(int64_t bytes) { plan_.info.packed_bytes += bytes; }
  /// Threads for a step that takes `nanoseconds` on one thread; sets them in the library, so that the next primitives are made for them.
  int use_threads(double nanoseconds);

 private:
  BufferId new_buffer(Buffer buffer);
  StepInfo& record(const TensorDesc& output, std::string_view implementation);

  Plan& plan_;
  PrimitiveLibrary* library_;
  int threads_;
  StepInfo about_;  ///< common to the steps of the running group
};

}  // namespace relayout::exec
