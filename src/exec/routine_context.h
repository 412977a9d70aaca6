#pragma once

#include "exec/constant_store.h"
#include "exec/inner_times.h"
#include "exec/primitives.h"
#include "exec/recycler.h"
#include "layout/cost.h"
#include "model/functions.h"
#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout::exec {

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
