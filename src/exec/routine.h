#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "exec/arena.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/cost.h"
#include "model/functions.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::exec {

/// Times of steps in nested graphs, summed over all iterations of a run: memory grows with nodes, not with iterations.
class InnerTimes {
 public:
  /// A run of the main graph begins. Steps that earlier runs met keep their numbers.
  void begin(bool is_on);
  /// Whether this run is timed.
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }

  struct Entry {
    NodeId root;  ///< the node of the main graph that contains the step
    StepInfo info;
  };
  /// The number of a step, a new one when it was not met before: steps that differ in shapes alone share a number.
  [[nodiscard]] std::size_t number_of(NodeId root, StepInfo info);
  /// Adds a call, less the time that other entries account for.
  void add(std::size_t number, const InnerTime& call);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] const std::vector<InnerTime>& times() const noexcept { return times_; }
  /// Nanoseconds of all entries in this run.
  [[nodiscard]] int64_t total() const noexcept { return total_; }

 private:
  bool is_on_ = false;
  std::vector<Entry> entries_;
  std::vector<InnerTime> times_;
  std::unordered_map<std::string, std::size_t> numbers_;
  int64_t total_ = 0;
};

/// Common parts of all routines of an executor.
struct RoutineContext {
  RoutineContext(const Model& model, ExecuteOptions given, const layout::CostModel* costs_given);
  Functions functions;
  ExecuteOptions options;
  const layout::CostModel* costs;  ///< of the layout plan; nullptr: those of this machine
  int threads;
  ConstantStore store;
  PrimitiveLibrary* library = nullptr;  ///< null in reference mode
  Recycler recycler;                    ///< of results
  InnerTimes inner;                     ///< of nested graphs
};

/// A plan for the nodes of a program from `first` on, up to the first node that has to see data. `states`: facts about values before
/// `first`; updated to those after the plan. `touched`: the values whose states are new since the previous plan.
[[nodiscard]] std::unique_ptr<Plan> compile(const Program& program, RoutineContext& context, NodeId first,
                                            IdVector<ValueId, ValueState>& states, std::vector<ValueId> touched);

/// Runs a nested graph on its inputs; the caller supplies the captured values.
using RunGraph = std::function<std::vector<Datum>(const Graph& graph, std::vector<Datum> inputs)>;

/// The outputs of an If, Loop, Scan or SequenceMap. Absent inputs are null. Error{invalid} naming the node where operands do not fit.
[[nodiscard]] std::vector<Datum> run_control_flow(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run);

/// A value given to a routine: data, or a constant that plans may be built on; or neither, for an input whose initializer is used.
struct Given {
  Datum datum;
  std::shared_ptr<KnownConstant> constant;
  [[nodiscard]] bool is_there() const noexcept { return constant || datum.kind != Datum::Kind::tensor || datum.tensor; }
};

/// A graph that can be run: the main one, or one nested in a control-flow node. Keeps plans by input shapes, runs the nodes between them
/// whose results' shapes depend on data, and owns the routines of nested graphs.
class Routine {
 public:
  /// Place of a nested graph: the node of the main graph that contains it, and the names of all nodes around it.
  struct Place {
    NodeId root{};
    std::vector<std::string> callers;  ///< empty for the main graph
    [[nodiscard]] bool is_nested() const noexcept { return !callers.empty(); }
  };
  Routine(const Graph& graph, RoutineContext& context, Place place);
  ~Routine();
  Routine(const Routine&) = delete;
  Routine& operator=(const Routine&) = delete;

  [[nodiscard]] const Program& program() const noexcept { return program_; }
  /// Inputs in the order of the graph's, captures in the order of Program::captures(). The caller owns the results. `times`: see StepTimes.
  [[nodiscard]] std::vector<Datum> run(const std::vector<Given>& inputs, const std::vector<Given>& captures, StepTimes* times = nullptr);
  /// The plans of the latest run, joined.
  [[nodiscard]] PlanInfo info() const;

 private:
  /// Key of a plan: types and dims of the given values, and the constants among them.
  struct Key {
    std::vector<DatumInfo> infos;
    std::string constants;
    bool operator==(const Key& other) const;
  };
  /// Facts about values from outside, by number.
  using Known = std::vector<std::pair<ValueId, ValueState>>;
  void take(ValueId value, const Given& given, Key& key, RunState& state, Known& known);
  std::vector<ValueId> begin_states(Known known);
  [[nodiscard]] std::vector<Datum> run_node(const Plan& plan, RunState& state);
  void show(const ProgramNode& in, const Node& node, const std::vector<Datum>& results) const;
  void show_computed(const ProgramNode& in, const Node& node, const std::vector<Datum>& results) const;
  void show_beginning(const std::vector<Given>& inputs) const;
  void show_folded(const Plan& plan) const;
  void show_ended_calls(const ProgramNode& last, const std::vector<Datum>& results, const RunState& state) const;
  [[nodiscard]] std::vector<Datum> run_control_flow(const ProgramNode& node, const Plan& plan, RunState& state);
  [[nodiscard]] Plan& continuation(Plan& plan, std::vector<Datum> outputs, RunState& state);
  void catch_up();
  [[nodiscard]] Routine& nested(const Graph& graph, const ProgramNode& node);
  [[nodiscard]] std::vector<Datum> run_timed(Plan& plan, RunState& state, StepTimes* times);

  RoutineContext& context_;
  Place place_;
  Program program_;
  StepTimes step_times_;  ///< of one plan of a nested graph
  std::list<std::pair<Key, std::unique_ptr<Plan>>> plans_;
  std::unordered_map<const Graph*, std::unique_ptr<Routine>> nested_;
  std::vector<const Plan*> trail_;  ///< of the latest run
  /// Facts about values after the first `caught_up_` plans of the trail; maintained only while plans are being made.
  IdVector<ValueId, ValueState> states_;
  std::size_t caught_up_ = 0;
};

/// A copy that shares no memory: tensors contiguous.
[[nodiscard]] Datum detached(const Datum& datum, Recycler& recycler);

/// Nodes that outputs depend on and that have no kernel, nested graphs and functions included.
[[nodiscard]] std::vector<Unsupported> unsupported_nodes(const Graph& graph);

}  // namespace relayout::exec

namespace relayout {

/// Builds executors whose layout plan uses other costs than this machine's: for tests, which need the same plan on every machine.
struct ExecutorBuilder {
  /// Throws as Executor's constructor does. `costs` must outlive the executor; nullptr: this machine's.
  [[nodiscard]] static Executor build(const Graph& graph, ExecuteOptions options, const layout::CostModel* costs);
};

}  // namespace relayout
