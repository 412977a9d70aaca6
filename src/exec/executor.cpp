// Implements the public Executor, and checks the inputs that callers give.

#include "base/text.h"
#include "exec/program.h"
#include "exec/routine.h"
#include "layout/cost.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

using exec::Given;
using exec::Routine;
using exec::RoutineContext;
using exec::unsupported_nodes;
using exec::ValueId;

std::string_view to_string(Mode mode) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"as-written", "optimized", "reference"});
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view to_string(StepKind kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"node", "view", "reorder", "pack", "inside"});
  return kNames[static_cast<std::size_t>(kind)];
}

struct Executor::Impl {
  Impl(const Graph& graph, ExecuteOptions options, const layout::CostModel* costs)
      : context(graph.model(), std::move(options), costs), routine(graph, context, {}) {}
  RoutineContext context;
  Routine routine;
  PlanInfo info;  ///< result of the latest plan_info()
};

namespace {

/// Refuses a tensor that contradicts the graph's declaration of an input.
void check_input(const Value& declared, const Tensor& tensor) {
  const auto shape = declared.declared();
  if (!shape) return;
  if (shape->type != DataType::undefined && shape->type != tensor.type()) {
    fail(ErrorKind::invalid, "input " + quote(declared.name()) + " is " + std::string(name_of(tensor.type())) + ", the model wants " +
                                 std::string(name_of(shape->type)));
  }
  if (shape->has_shape && shape->dims.size() != tensor.dims().size()) {
    fail(ErrorKind::invalid, "input " + quote(declared.name()) + " has dims " + to_string(tensor.dims()) + ", the model wants " +
                                 std::to_string(shape->dims.size()) + " dims");
  }
}

/// The caller's inputs in the order of the graph's inputs.
std::vector<Given> in_order(const exec::Program& program, const Inputs& inputs) {
  std::vector<Given> out;
  std::size_t used = 0;
  for (const ValueId value : program.inputs()) {
    const Value& declared = *program.values()[value];
    const auto given = inputs.find(declared.name());
    if (given == inputs.end()) {
      if (declared.initializer() == nullptr) fail(ErrorKind::invalid, "input " + quote(declared.name()) + " is missing");
      out.emplace_back();
      continue;
    }
    ++used;
    if (given->second.kind == Datum::Kind::tensor) check_input(declared, given->second.tensor);
    out.push_back({given->second, nullptr});
  }
  if (used == inputs.size()) return out;
  for (const auto& [name, datum] : inputs) {
    const auto is_it = [&](ValueId value) { return program.values()[value]->name() == name; };
    if (std::ranges::none_of(program.inputs(), is_it)) fail(ErrorKind::usage, "the model has no input " + quote(name));
  }
  return out;
}

}  // namespace

Executor ExecutorBuilder::build(const Graph& graph, ExecuteOptions options, const layout::CostModel* costs) {
  const std::vector<Unsupported> nodes = unsupported_nodes(graph);
  if (!nodes.empty()) fail(ErrorKind::unsupported, cannot_run_text(nodes));
  return Executor(std::make_unique<Executor::Impl>(graph, std::move(options), costs));
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::Executor(const Graph& graph, ExecuteOptions options) : Executor(ExecutorBuilder::build(graph, std::move(options), nullptr)) {}

Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

std::vector<Unsupported> Executor::unsupported(const Graph& graph) {
  return unsupported_nodes(graph);
}

Outputs Executor::run(const Inputs& inputs, StepTimes* times) {
  if (times != nullptr) {
    times->begins.clear();
    times->ends.clear();
  }
  return impl_->routine.run(in_order(impl_->routine.program(), inputs), {}, times);
}

const PlanInfo& Executor::plan_info() const {
  impl_->info = impl_->routine.info();
  return impl_->info;
}

}  // namespace relayout
