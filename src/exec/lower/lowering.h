// Declares what turns groups into the steps of a plan: estimates, steps, places of values, and the copies between them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/layout_guide.h"
#include "exec/lower/fuse.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout::step_rates {

/// Rates of steps on one thread by kind: multiply-adds, bytes, elements per nanosecond. Lowering estimates the time of a step by them,
/// which lowering.cpp only compares with 12 µs, so only its order of magnitude counts. Rates are those of a slow kind on an AVX2 core
/// (src/layout/rates.h has them by kind), confirmed on AMD Zen 5 with oneDNN 3.7.2, 2026-11-22.

inline constexpr double kMacsPerNanosecond = 40;           ///< f32 convolutions and products (31 to 105 with AVX2)
inline constexpr double kDepthwiseMacsPerNanosecond = 13;  ///< of one channel per group (13 with AVX2, 12 to 48 with AVX-512)
inline constexpr double kIntegerMacsPerNanosecond = 100;   ///< 8-bit ones
inline constexpr double kRecurrentMacsPerNanosecond = 10;  ///< products of one step of a recurrence, read from memory
inline constexpr double kStreamedBytesPerNanosecond = 10;  ///< tensors read or written from one end to the other
inline constexpr double kTapsPerNanosecond = 8;            ///< of pools
inline constexpr double kSummedPerNanosecond = 4;          ///< elements of reductions
inline constexpr double kMovedPerNanosecond = 2;           ///< elements that move one by one
inline constexpr double kExponentialsPerNanosecond = 1;    ///< and other functions, statistics included

}  // namespace relayout::step_rates

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
  /// `read` gives the tensor when a step needs it.
  [[nodiscard]] Place fixed_place(TensorDesc desc, std::function<Tensor()> read);
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

struct LoweringSettings {
  Mode mode = Mode::optimized;
  int threads = 1;
  PrimitiveLibrary* library = nullptr;  ///< null in reference mode
  bool few_runs = false;                ///< see ExecuteOptions
  bool weights_late = false;            ///< see ExecuteOptions
  bool observe = false;                 ///< observers may overwrite the values that they are shown: no value is a view of another
  /// Nodes that get memory for their outputs and no step that computes them; null: none.
  const std::function<bool(const Node&)>* leave_out = nullptr;
};

/// Tracks where each value is stored and in which orders, and copies values into the order that a consumer needs.
class Places {
 public:
  Places(const ValueFacts& facts, const LayoutGuide& guide, const LoweringSettings& settings, ReadCounts reads, StepWriter& steps);

  /// Begins a group: its reads no longer count as still to come, and its operands are chosen in the orders that it needs.
  void begin(const Group& group);
  /// Undoes the counting of begin() for a group that is not lowered as one.
  void give_back(const Group& group) { reads_.add(group, +1); }

  /// Whether the value is a weight that steps read from its file (ExecuteOptions::weights_late).
  [[nodiscard]] bool is_read_late(ValueId value) const;
  /// Place of a tensor value, in the order that the running group needs.
  [[nodiscard]] Place of(ValueId value);
  /// The value in this order without gaps, copied if necessary (once, for all consumers).
  [[nodiscard]] Place dense(ValueId value, Order order);
  [[nodiscard]] Place dense(ValueId value, const layout::AxisOrder& order) { return dense_as(value, order, false); }
  /// The value in this order, for use inside one node.
  [[nodiscard]] Place dense_inside(ValueId value, Order order);
  /// Whether the place may be written over: it is in the arena, and no later step reads its value or another value in its buffer. Other
  /// operands of this step may be stored there: a kernel that reads them after its first write needs a check for that.
  [[nodiscard]] bool can_overwrite(const Place& place) const;

  /// Adds a place of a value.
  void define(ValueId value, Place place);
  /// Sets the places of the elements of a sequence that only SequenceAt at known positions reads.
  void define_elements(ValueId value, std::vector<Place> places);
  /// The places set so; null when the sequence is a datum in a slot.
  [[nodiscard]] const std::vector<Place>* elements(ValueId value) const;
  /// A slot for a value that is no plain tensor. read_slot: for a value to read, which is imported when this plan did not make it.
  [[nodiscard]] SlotId slot(ValueId value);
  [[nodiscard]] SlotId read_slot(ValueId value);
  [[nodiscard]] bool has_place(ValueId value) const { return !where_[value].places.empty(); }

  /// Makes the place of a value a contiguous one from here on, for the caller to get.
  void hand_over(ValueId value);
  /// Values made in this plan that are read after it.
  [[nodiscard]] std::vector<ValueId> made_for_later() const;

 private:
  struct Where {
    std::vector<Place> places;    ///< the first is the original, the others are copies in other orders
    std::vector<Place> elements;  ///< of a sequence
    SlotId slot = SlotId::none;
    std::size_t chosen = 0;  ///< index into `places`: the one for the running group
    bool imported = false;
  };
  Place import_value(ValueId value);
  [[nodiscard]] Place constant_place(ValueId value, KnownConstant& known);
  void choose(ValueId value, const layout::AxisOrder& wanted);
  [[nodiscard]] Place dense_as(ValueId value, const layout::AxisOrder& order, bool inside);

  const ValueFacts& facts_;
  const LayoutGuide& guide_;
  bool optimized_, weights_late_;
  ReadCounts reads_;
  StepWriter& steps_;
  IdVector<ValueId, Where> where_;
};

/// The kernel that copies a tensor from one layout to another in a reorder, in a pack or inside a node.
[[nodiscard]] std::unique_ptr<Kernel> choose_copy(const TensorDesc& from, const TensorDesc& to, Team team);

/// State shared by the functions that lower a group: facts, decisions, places of values, and the plan to write.
struct Lowering {
  const LoweringSettings& settings;
  const Program& program;
  const Inference& inference;
  const ValueFacts& facts;
  const LayoutGuide& guide;
  Places& places;
  StepWriter& steps;

  [[nodiscard]] bool optimized() const noexcept { return settings.mode == Mode::optimized; }
  [[nodiscard]] PrimitiveLibrary& library() const noexcept { return *settings.library; }
  [[nodiscard]] ConstantStore& store() const noexcept { return facts.store; }
  [[nodiscard]] const DatumInfo& info(ValueId value) const { return facts.info(value); }
  [[nodiscard]] bool is_tensor(ValueId value) const { return facts.is_tensor(value); }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(ValueId value) const { return facts.constant(value); }
  /// The constant that a product packs; null for what is no constant, and for a weight that is read late: another run reads it anew.
  [[nodiscard]] KnownConstant* to_pack(ValueId value) const { return places.is_read_late(value) ? nullptr : constant(value); }
  /// Whether a node runs in this plan (or is folded), not after it.
  [[nodiscard]] bool is_in_plan(NodeId node) const noexcept { return node < inference.next; }
  /// Whether convolutions and similar operators run channels-last; nothing when the plan leaves it to the order of the operands.
  [[nodiscard]] std::optional<Order> planned_order(const ProgramNode& node) const;
  /// The planned order of a node's result; nothing when that follows from its operands.
  [[nodiscard]] std::optional<layout::AxisOrder> made(const ProgramNode& node, std::size_t output) const {
    return guide.made(node.id, output);
  }
  /// A new tensor for a node's result: in the planned order, else in `otherwise`.
  [[nodiscard]] TensorDesc result_desc(const ProgramNode& node, std::size_t output, Order otherwise) const;
};

/// A plan of the groups, which consist of the nodes from `first` on that `inference` left to run. `guide` decides the orders of tensors.
[[nodiscard]] std::unique_ptr<Plan> lower(const Program& program, NodeId first, const Inference& inference, const ValueFacts& facts,
                                          const LayoutGuide& guide, const std::vector<Group>& groups, const LoweringSettings& settings);

/// One line per operator with something better than the op table's kernel. A function that declines returns false and has emitted nothing.
struct LoweringEntry {
  std::string_view op_type;
  bool (*lower)(Lowering&, const Group&);
  bool any_outputs = false;  ///< also lowers nodes whose first output is not needed
};
[[nodiscard]] const LoweringEntry* find_lowering(std::string_view op_type);
/// Lowers a node to the op table's kernel, or to views.
void lower_own(Lowering& lowering, const ProgramNode& node);

}  // namespace relayout::exec
