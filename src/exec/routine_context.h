#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/arena.h"
#include "exec/constant_store.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/cost.h"
#include "model/functions.h"
#include "relayout/execute.h"
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

}  // namespace relayout::exec
