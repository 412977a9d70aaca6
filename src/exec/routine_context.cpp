// State shared by an executor's routines: options, number of threads, functions of the model, constants, and oneDNN, which `--mode
// reference` does without.
#include "exec/routine_context.h"

#include <utility>

#include "base/cpus.h"
#include "exec/primitives.h"
#include "layout/cost.h"
#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout::exec {

RoutineContext::RoutineContext(const Model& model, ExecuteOptions given, const layout::CostModel* costs_given)
    : functions(model),
      options(std::move(given)),
      costs(costs_given),
      threads(threads_or_all(options.threads)),
      store(options.edit_constant) {
  if (options.mode != Mode::reference) library = &primitive_library();
}

}  // namespace relayout::exec
