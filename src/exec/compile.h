#pragma once

#include <memory>
#include <vector>

#include "base/indexed.h"
#include "exec/ids.h"
#include "exec/inference.h"
#include "exec/plan.h"
#include "exec/program.h"
#include "exec/routine_context.h"

namespace relayout::exec {

/// A plan for the nodes of a program from `first` on, up to the first node that has to see data. `states`: facts about values before
/// `first`; updated to those after the plan. `touched`: the values whose states are new since the previous plan.
[[nodiscard]] std::unique_ptr<Plan> compile(const Program& program, RoutineContext& context, NodeId first,
                                            IdVector<ValueId, ValueState>& states, std::vector<ValueId> touched);

}  // namespace relayout::exec
