#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/constant_store.h"
#include "exec/layout_guide.h"
#include "exec/lower/stages.h"
#include "exec/plan.h"
#include "exec/primitives.h"

namespace relayout {

/// The two dense orders that tensors of a plan are kept in.
enum class Order : uint8_t { contiguous, channels_last };

/// Strides of a dense tensor: dim 1 innermost for channels_last (rank 3 and more), row-major otherwise.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, Order order);
/// Whether strides are those of the order, dims of size 1 aside.
[[nodiscard]] bool is_ordered(const TensorDesc& desc, Order order);
/// The same for any order of dims.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, const AxisOrder& order);

/// Nodes that become one piece of work: the first is the anchor, each next one reads its predecessor's output, which nobody else does.
struct Group {
  std::vector<const ProgramNode*> nodes;
  [[nodiscard]] const ProgramNode& anchor() const { return *nodes.front(); }
  [[nodiscard]] const ProgramNode& last() const { return *nodes.back(); }
  /// What the group makes, unless the anchor stands alone and makes more.
  [[nodiscard]] int output() const { return last().output(0); }
};

struct LoweringSettings {
  Mode mode = Mode::optimized;
  int threads = 1;
  PrimitiveLibrary* library = nullptr;  ///< null in reference mode
  bool observe = false;
};

/// Turns groups into steps: knows where each value lies, makes buffers, inserts copies.
class Lowering {
 public:
  Lowering(const Program& program, std::vector<ValueState>& states, ConstantStore& store, LoweringSettings settings, Plan& plan);

  /// The layout plan to follow; it must outlive this.
  void follow(const LayoutGuide& guide);

  /// Nodes from `first` on that inference folded away no longer read anything.
  void skip_folded(int first, const Inference& inference);
  void lower(const Group& group);
  /// Lays out the arena, names the exports. The plan is complete behind this.
  void finish();

  // What lowering functions use.
  [[nodiscard]] const LoweringSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] bool optimized() const noexcept { return settings_.mode == Mode::optimized; }
  [[nodiscard]] const Program& program() const noexcept { return program_; }
  [[nodiscard]] PrimitiveLibrary& library() const noexcept { return *settings_.library; }
  [[nodiscard]] ConstantStore& store() const noexcept { return store_; }
  [[nodiscard]] const DatumInfo& info(int value) const;
  [[nodiscard]] bool is_tensor(int value) const { return info(value).kind == Datum::Kind::tensor; }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(int value) const;
  [[nodiscard]] StageContext stage_context() const { return {states_, store_}; }
  /// Reads of a value that come after this group.
  [[nodiscard]] int pending(int value) const { return pending_[static_cast<std::size_t>(value)]; }

  /// Where a tensor value lies, in the order that the running group wants it in.
  [[nodiscard]] Place place(int value);
  /// The value in this order without gaps, copied if it must be (once, for all readers).
  [[nodiscard]] Place dense(int value, Order order);
  [[nodiscard]] Place dense(int value, const AxisOrder& order);
  /// Whether convolutions and what is computed like them run channels-last; nothing when the plan leaves it to how operands lie.
  [[nodiscard]] std::optional<Order> planned_order(const ProgramNode& node) const;
  /// A new tensor for a node's result: in the planned order, else in `otherwise`.
  [[nodiscard]] TensorDesc result_desc(const ProgramNode& node, std::size_t output, Order otherwise) const;
  [[nodiscard]] std::optional<AxisOrder> made(const ProgramNode& node, std::size_t output) const;
  /// Whether the place is that of a dying value which may be written over, and no other operand of the step lies in its buffer.
  [[nodiscard]] bool can_overwrite(const Place& place) const;
  [[nodiscard]] Place new_place(TensorDesc desc);
  [[nodiscard]] Place fixed_place(const Tensor& tensor);
  [[nodiscard]] Place fixed_place(std::shared_ptr<void> memory, int64_t bytes);
  [[nodiscard]] Place view_of(const Place& place, TensorDesc desc, int64_t offset_bytes) const;
  /// Says where a value lies.
  void define(int value, Place place);
  /// Says where the elements of a sequence lie that nothing but SequenceAt at known positions reads.
  void define_elements(int value, std::vector<Place> places);
  /// Those places; null when the sequence is a datum in a slot.
  [[nodiscard]] const std::vector<Place>* elements(int value) const;
  /// Whether a node runs in this plan (or is folded), not behind it.
  [[nodiscard]] bool is_in_plan(int node) const noexcept { return node < plan_.next; }
  /// A slot for a value that is no plain tensor, and the same for one that is read: made before this plan when nobody made it in it.
  [[nodiscard]] int slot(int value);
  [[nodiscard]] int read_slot(int value);
  [[nodiscard]] Datum* slot_datum(int slot) { return &plan_.slots[static_cast<std::size_t>(slot)]; }

  /// Appends a step. `places` in the order of the kernel's operands. The last `outputs` of them are written.
  void emit(std::unique_ptr<Kernel> kernel, const std::vector<Place>& places, int threads = 1, std::string_view op_type = {});
  /// A step for people only: nothing runs.
  void note_view(const TensorDesc& desc);
  /// Why a tensor is copied: into another layout, into a dense piece, or within a node that computes in another layout than its own.
  enum class Copy : uint8_t { reorder, pack, inside };
  /// Copies between two places of the same dims.
  void copy(const Place& from, const Place& to, Copy kind);
  /// The value in this order for the inside of one node.
  [[nodiscard]] Place dense_inside(int value, Order order);
  void count_macs(int64_t macs) { plan_.info.macs += macs; }
  void count_packed(int64_t bytes) { plan_.info.packed_bytes += bytes; }
  /// Threads for a step of so many nanoseconds on one thread; sets them in the library, so that primitives made next are made for them.
  int use_threads(double nanoseconds);

 private:
  struct Where {
    std::vector<Place> places;    ///< the first is the value's own, the others copies in other orders
    std::vector<Place> elements;  ///< of a sequence
    std::vector<int> buffers;     ///< that it lies in, each once
    int slot = -1;
    std::size_t chosen = 0;  ///< among `places`: the one for the running group
    bool imported = false;
  };
  Where& where(int value) { return where_[static_cast<std::size_t>(value)]; }
  Place import_value(int value);
  int new_buffer(Buffer buffer);
  void settle(int value, int buffer);
  [[nodiscard]] int number_of(const ProgramNode& node) const { return static_cast<int>(&node - program_.nodes().data()); }
  void choose_places(const Group& group);
  [[nodiscard]] Place dense_as(int value, const AxisOrder& order, bool inside);
  void hand_over_outputs();
  void find_results();
  StepInfo& record(const TensorDesc& output, std::string_view implementation, std::string_view op_type);
  void describe_group(StepInfo& info) const;
  void count_group();
  void count_live_bytes();
  void count_reads(const Group& group, int change);
  void observe(const Group& group);
  void observe(const Node& node, const std::vector<int>& outputs);
  PlanPort port_of(int value);

  const Program& program_;
  std::vector<ValueState>& states_;
  ConstantStore& store_;
  LoweringSettings settings_;
  Plan& plan_;
  LayoutGuide no_guide_;
  const LayoutGuide* guide_ = &no_guide_;
  std::vector<Where> where_;
  std::vector<int> pending_;
  std::vector<int64_t> pending_in_;  ///< per buffer: reads to come of all values that lie in it
  const Group* group_ = nullptr;     ///< being lowered; null once all are
  int handed_over_ = -1;             ///< the output of the graph that is handed over then
  int64_t counted_macs_ = 0;         ///< of those in the plan's info: given to steps
};

/// One line per operator with something better than its own kernel. A function that declines returns false and has emitted nothing.
struct LoweringEntry {
  std::string_view op_type;
  bool (*lower)(Lowering&, const Group&);
  bool any_outputs = false;  ///< it also takes nodes whose first output is not wanted
};
[[nodiscard]] const LoweringEntry* find_lowering(std::string_view op_type);
/// The op table's own kernel, or a view.
void lower_own(Lowering& lowering, const ProgramNode& node);

}  // namespace relayout
