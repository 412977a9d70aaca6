// Makes one plan, stage by stage: inference, layout, groups, lowering.

#include "base/indexed.h"
#include "exec/inference.h"
#include "exec/layout_guide.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lowering.h"
#include "exec/plan.h"
#include "exec/program.h"
#include "exec/routine.h"
#include "relayout/execute.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Frees the constants that were read from the file and are packed or bound by now.
void release_constants(const IdVector<ValueId, ValueState>& states) {
  constexpr int64_t kKeptElements = 4096;
  for (const ValueState& state : states) {
    if (state.constant && state.constant->element_count() > kKeptElements) state.constant->release();
  }
}

/// Constants that may be read after the plan: the graph's results, or operands of the next node.
void note_constants(const Program& program, const IdVector<ValueId, ValueState>& states, Plan& plan) {
  const auto note = [&](ValueId value) {
    const auto& constant = states[value].constant;
    if (constant) plan.constants[value] = constant;
  };
  if (plan.next == program.nodes().end_id()) {
    for (const ValueId output : program.outputs()) note(output);
  } else {
    program.nodes()[plan.next].for_each_read(note);
  }
}

/// The nodes before the plan's end that inference has computed, for the watcher. Constants of the file are not computed.
void note_folded(const Program& program, NodeId first, const Inference& inference, const IdVector<ValueId, ValueState>& states,
                 Plan& plan) {
  auto kept = inference.nodes.begin();
  for (const NodeId id : IdRange(first, inference.next)) {
    const ProgramNode& node = program.nodes()[id];
    if (kept != inference.nodes.end() && *kept == id) {
      ++kept;
    } else if (!node.node->is("Constant")) {
      FoldedNode& out = plan.folded.emplace_back();
      out.node = &node;
      for (const ValueId value : node.outputs) out.results.push_back(value == ValueId::none ? nullptr : states[value].constant);
    }
  }
}

/// Whether nodes may be left out: all of the graph is in this plan, one node to a group, and every value is memory of known dims.
bool may_leave_out(const Program& program, const Inference& inference, const RoutineContext& context, const ValueFacts& facts) {
  const ExecuteOptions& options = context.options;
  if (!options.observe || !options.leave_out || options.mode == Mode::optimized || inference.next != program.nodes().end_id()) return false;
  const auto is_memory = [&](ValueId value) {
    return value == ValueId::none || (facts.is_tensor(value) && facts.info(value).type != DataType::string);
  };
  return std::ranges::all_of(inference.nodes, [&](NodeId node) { return std::ranges::all_of(program.nodes()[node].outputs, is_memory); });
}

}  // namespace

std::unique_ptr<Plan> compile(const Program& program, RoutineContext& context, NodeId first, IdVector<ValueId, ValueState>& states,
                              std::vector<ValueId> touched) {
  const Inference inference = infer(program, first, states, context.store);
  const Mode mode = context.options.mode;
  const LayoutGuide guide =
      mode == Mode::optimized ? LayoutGuide(program, inference.nodes, states, {context.options.layout, context.costs}) : LayoutGuide();
  const ValueFacts facts{states, context.store};
  const std::vector<Group> groups =
      mode == Mode::optimized ? fused_groups(program, inference.nodes, facts, guide) : single_groups(program, inference.nodes);
  const auto* const leave_out = may_leave_out(program, inference, context, facts) ? &context.options.leave_out : nullptr;
  const bool is_main = &program.graph() == &program.graph().model().graph();
  const LoweringSettings settings{.mode = mode,
                                  .threads = context.threads,
                                  .library = context.library,
                                  .few_runs = context.options.few_runs,
                                  .weights_late = context.options.weights_late && is_main,
                                  .observe = context.options.is_watched(),
                                  .leave_out = leave_out};
  std::unique_ptr<Plan> plan = lower(program, first, inference, facts, guide, groups, settings);
  if (context.options.watch) note_folded(program, first, inference, states, *plan);
  for (const PlanPort& port : plan->exports) {
    if (port.place) states[port.value].strides = port.place.desc.strides;
  }
  release_constants(states);
  note_constants(program, states, *plan);
  if (plan->next < program.nodes().end_id()) {
    touched.insert(touched.end(), inference.values.begin(), inference.values.end());
    for (const ValueId value : touched) plan->made.emplace_back(value, states[value]);
  }
  return plan;
}

}  // namespace relayout::exec
