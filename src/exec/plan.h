// Declares a compiled plan as data: its buffers, steps, continuations, and the values that live between plans.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "exec/arena.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/program.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// A piece of memory that steps work on.
struct Buffer {
  enum class Kind : uint8_t {
    arena,     ///< an offset into the plan's arena
    fixed,     ///< a constant or packed weights, owned
    external,  ///< a value that exists before the plan runs: a graph input, or a result of an earlier segment
    result,    ///< a graph output that is nothing else: new memory in each run, which the caller owns afterwards
  };
  Kind kind = Kind::arena;
  int64_t bytes = 0;
  std::shared_ptr<void> owner;           ///< of a fixed buffer
  std::function<Tensor()> read;          ///< gives a fixed buffer its bytes for as long as steps touch it; empty: they stay
  std::byte* data = nullptr;             ///< null until it is known
  int64_t first = INT64_MAX, last = -1;  ///< the first and last step that touch it
};

/// A value that a plan imports or exports: a tensor at a place, or (for sequences, optionals and strings) a datum in a slot.
struct PlanPort {
  ValueId value = ValueId::none;
  Place place;
  SlotId slot = SlotId::none;
};

/// Argument of `observe` after step number `after` - 1.
struct Observation {
  std::size_t after = 0;
  const ProgramNode* in = nullptr;  ///< the node, or the last one of the body of the call
  const Node* node = nullptr;
  std::vector<PlanPort> outputs;  ///< `value` is none where the output is absent
};

/// A node whose results are constants.
struct FoldedNode {
  const ProgramNode* node = nullptr;
  std::vector<std::shared_ptr<KnownConstant>> results;  ///< null where absent
};

/// A graph, or a run of its nodes up to one whose output shapes depend on data, compiled for one set of input shapes.
struct Plan {
  Plan() = default;
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  IdVector<BufferId, Buffer> buffers;
  std::vector<Step> steps;
  std::deque<Datum> slots;
  std::vector<PlanPort> imports, exports;
  std::vector<PlanPort> results;  ///< the exports whose buffers are results
  std::vector<Observation> observations;
  std::vector<FoldedNode> folded;  ///< for ExecuteOptions::watch
  PlanInfo info;
  std::vector<std::size_t> inner;  ///< numbers in InnerTimes of the steps and of `next`, for a nested graph; empty until noted

  ArenaLayout arena_layout;  ///< of the arena buffers, in their order
  ArenaMemory arena, scratchpad;
  bool is_bound = false;

  /// The node that must see data before its outputs' shapes are known; end_id() of the nodes when the plan reaches the end.
  NodeId next{};
  /// Facts about values that this plan established, by number; earlier plans of the same run established the others. Empty at the end.
  std::vector<std::pair<ValueId, ValueState>> made;
  /// The constants among the inputs of node `next`, or among the graph's outputs at the end.
  std::unordered_map<ValueId, std::shared_ptr<KnownConstant>> constants;
  /// Continuations after `next`, by types and dims of its outputs; newest first.
  std::list<std::pair<std::vector<DatumInfo>, std::unique_ptr<Plan>>> continuations;
};

/// Values that live between plans.
struct RunState {
  std::unordered_map<ValueId, Datum> values;  ///< inputs, exports, results of nodes that had to see data
  std::unordered_set<ValueId> own;            ///< values whose memory holds nothing else, in this run or a later one
};

/// Arguments of a run of steps besides the plan.
struct RunServices {
  Recycler& recycler;                                                            ///< of results
  PrimitiveLibrary* library = nullptr;                                           ///< null in reference mode
  std::function<void(const Observation&, const std::vector<Datum>&)> show = {};  ///< empty: values stay unseen
  StepTimes* times = nullptr;                                                    ///< times of the steps; null: not noted
};

/// Runs the steps: binds the buffers that changed since the last run, and leaves the exports in `state`.
void run_steps(Plan& plan, RunState& state, const RunServices& services);

}  // namespace relayout::exec
