#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/threads.h"
#include "exec/fuse.h"
#include "exec/inference.h"
#include "exec/kernel.h"
#include "exec/lowering.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Plans kept for other input shapes, and continuations kept for other data-dependent shapes.
constexpr std::size_t kMostPlans = 8;

bool same(const DatumInfo& a, const DatumInfo& b) {
  return a.kind == b.kind && a.type == b.type && a.dims == b.dims && std::ranges::equal(a.elements, b.elements, same);
}

DatumInfo shape_of(const Datum& datum) {
  DatumInfo info = info_of(datum);
  info.value = nullptr;
  for (DatumInfo& element : info.elements) element.value = nullptr;
  return info;
}

/// A caller's own copy: nothing of the plan's memory leaves it.
Datum detached(const Datum& datum) {
  if (datum.kind == Datum::Kind::tensor) {
    const Tensor& from = datum.tensor;
    Tensor out(from.type(), from.dims());
    if (from.type() == DataType::string) {
      const Tensor dense = contiguous(from);
      std::copy_n(dense.data<std::string>(), dense.element_count(), out.data<std::string>());
      return out;
    }
    const auto kernel = make_copy_kernel(from.desc(), out.desc(), {});
    kernel->bind(0, from.bytes());
    kernel->bind(1, out.bytes());
    kernel->run();
    return out;
  }
  Datum out;
  out.kind = datum.kind;
  for (const Datum& element : datum.elements) out.elements.push_back(detached(element));
  return out;
}

std::string message_of(const std::vector<Unsupported>& nodes) {
  constexpr std::size_t kShown = 3;
  std::string out =
      nodes.size() == 1 ? "1 node is not supported: " : format_count(static_cast<int64_t>(nodes.size())) + " nodes are not supported: ";
  for (std::size_t i = 0; i < std::min(kShown, nodes.size()); ++i) {
    const Unsupported& node = nodes[i];
    out += (i == 0 ? "" : "; ") + quote(node.node) + " (" + (node.domain.empty() ? "" : escape(node.domain) + ":") + escape(node.op_type) +
           "): " + escape(node.why);
  }
  return out + (nodes.size() > kShown ? "; …" : "");
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::as_written:
      return "as-written";
    case Mode::optimized:
      return "optimized";
    case Mode::reference:
      return "reference";
  }
  return "";
}

struct Executor::Impl {
  Impl(const Graph& graph, ExecuteOptions opts)
      : options(std::move(opts)),
        threads(options.threads > 0 ? options.threads : available_cpus()),
        program(graph, threads, options.seed),
        store(options.edit_constant) {
    if (options.mode != Mode::reference) library = &primitive_library();
  }

  RunState take_inputs(const Inputs& inputs, std::vector<DatumInfo>& key);
  std::vector<ValueState> first_states(const Inputs& inputs);
  std::unique_ptr<Plan> compile(int first, std::vector<ValueState> states);
  void release_constants(std::vector<ValueState>& states, bool is_last) const;
  Plan& plan_for(const Inputs& inputs, const std::vector<DatumInfo>& key);
  Plan& run_node(Plan& plan, RunState& state);
  Outputs collect(const Plan& plan, RunState& state);

  ExecuteOptions options;
  int threads;
  Program program;
  ConstantStore store;
  PrimitiveLibrary* library = nullptr;
  std::list<std::pair<std::vector<DatumInfo>, std::unique_ptr<Plan>>> plans;
  std::vector<const Plan*> trail;  ///< the plans of the latest run
  PlanInfo info;                   ///< of all of them
};

/// Checks the caller's inputs against the graph's declarations. The key is what plans are told apart by.
RunState Executor::Impl::take_inputs(const Inputs& inputs, std::vector<DatumInfo>& key) {
  RunState state;
  std::size_t used = 0;
  for (const int value : program.inputs()) {
    const Value& declared = *program.values()[static_cast<std::size_t>(value)];
    const auto given = inputs.find(declared.name());
    if (given == inputs.end()) {
      if (declared.initializer() == nullptr) fail(ErrorKind::invalid, "input " + quote(declared.name()) + " is missing");
      key.emplace_back();
      continue;
    }
    ++used;
    Datum datum = given->second;
    if (datum.kind == Datum::Kind::tensor) {
      const auto shape = declared.declared();
      if (shape && shape->type != DataType::undefined && shape->type != datum.tensor.type()) {
        fail(ErrorKind::invalid, "input " + quote(declared.name()) + " is " + std::string(name_of(datum.tensor.type())) +
                                     ", the model wants " + std::string(name_of(shape->type)));
      }
      if (shape && shape->has_shape && shape->dims.size() != datum.tensor.dims().size()) {
        fail(ErrorKind::invalid, "input " + quote(declared.name()) + " has dims " + to_string(datum.tensor.dims()) + ", the model wants " +
                                     std::to_string(shape->dims.size()) + " dims");
      }
      datum.tensor = contiguous(datum.tensor);
    }
    key.push_back(shape_of(datum));
    state[value] = std::move(datum);
  }
  if (used != inputs.size()) {
    for (const auto& [name, datum] : inputs) {
      const auto is_it = [&](int value) { return program.values()[static_cast<std::size_t>(value)]->name() == name; };
      if (std::ranges::none_of(program.inputs(), is_it)) fail(ErrorKind::usage, "the model has no input " + quote(name));
    }
  }
  return state;
}

std::vector<ValueState> Executor::Impl::first_states(const Inputs& inputs) {
  std::vector<ValueState> states(program.values().size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Value& value = *program.values()[i];
    if (value.producer() != nullptr) continue;
    const auto given = value.is_input() ? inputs.find(value.name()) : inputs.end();
    if (given != inputs.end()) {
      states[i].info = shape_of(given->second);
      continue;
    }
    states[i].constant = store.find_leaf(value);
    if (!states[i].constant) fail(ErrorKind::invalid, "value " + quote(value.name()) + " has no contents");
    DatumInfo known;
    known.type = states[i].constant->type();
    known.dims = states[i].constant->dims();
    states[i].info = std::move(known);
  }
  return states;
}

/// What was read from the file and is packed or bound by now goes; behind the last plan, everything but the graph's outputs.
void Executor::Impl::release_constants(std::vector<ValueState>& states, bool is_last) const {
  constexpr int64_t kKeptElements = 4096;
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto& constant = states[i].constant;
    if (!constant) continue;
    if (is_last && !program.is_output(static_cast<int>(i))) {
      constant.reset();
    } else if (constant->element_count() > kKeptElements) {
      constant->release();
    }
  }
}

std::unique_ptr<Plan> Executor::Impl::compile(int first, std::vector<ValueState> states) {
  auto plan = std::make_unique<Plan>();
  const Inference inference = infer(program, first, states, store);
  plan->next = inference.next;
  Lowering lowering(program, states, store, {options.mode, threads, library, static_cast<bool>(options.observe)}, *plan);
  lowering.skip_folded(first, inference);
  const LayoutGuide guide = options.mode == Mode::optimized ? LayoutGuide(program, inference.nodes, states) : LayoutGuide();
  lowering.follow(guide);
  const std::vector<Group> groups = options.mode == Mode::optimized
                                        ? fused_groups(program, inference.nodes, lowering.stage_context(), guide)
                                        : single_groups(program, inference.nodes);
  for (const Group& group : groups) lowering.lower(group);
  lowering.finish();
  release_constants(states, plan->next == static_cast<int>(program.nodes().size()));
  plan->states = std::move(states);
  return plan;
}

Plan& Executor::Impl::plan_for(const Inputs& inputs, const std::vector<DatumInfo>& key) {
  const auto known = std::ranges::find_if(plans, [&](const auto& entry) { return std::ranges::equal(entry.first, key, same); });
  if (known != plans.end()) {
    plans.splice(plans.begin(), plans, known);
  } else {
    plans.emplace_front(key, compile(0, first_states(inputs)));
    if (plans.size() > kMostPlans) plans.pop_back();
  }
  return *plans.front().second;
}

/// Runs the node that had to see data, and answers the plan behind it.
Plan& Executor::Impl::run_node(Plan& plan, RunState& state) {
  const ProgramNode& node = program.nodes()[static_cast<std::size_t>(plan.next)];
  std::vector<Datum> inputs(node.inputs.size());
  std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    const auto& constant = plan.states[static_cast<std::size_t>(node.inputs[i])].constant;
    inputs[i] = constant ? Datum(store.read(*constant)) : state[node.inputs[i]];
    pointers[i] = &inputs[i];
  }
  std::vector<Datum> outputs = compute_now(node, pointers);
  if (options.observe) options.observe(*node.node, outputs);
  std::vector<DatumInfo> key;
  key.reserve(outputs.size());
  for (const Datum& output : outputs) key.push_back(shape_of(output));

  const auto known =
      std::ranges::find_if(plan.continuations, [&](const auto& entry) { return std::ranges::equal(entry.first, key, same); });
  if (known != plan.continuations.end()) {
    plan.continuations.splice(plan.continuations.begin(), plan.continuations, known);
  } else {
    std::vector<ValueState> states = plan.states;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.outputs[k] >= 0) states[static_cast<std::size_t>(node.outputs[k])].info = key[k];
    }
    plan.continuations.emplace_front(key, compile(plan.next + 1, std::move(states)));
    if (plan.continuations.size() > kMostPlans) plan.continuations.pop_back();
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.outputs[k] >= 0) state[node.outputs[k]] = std::move(outputs[k]);
  }
  return *plan.continuations.front().second;
}

Outputs Executor::Impl::collect(const Plan& plan, RunState& state) {
  Outputs out;
  for (const int value : program.outputs()) {
    const auto& constant = plan.states[static_cast<std::size_t>(value)].constant;
    out.push_back(detached(constant ? Datum(store.read(*constant)) : state[value]));
  }
  return out;
}

Executor::Executor(const Graph& graph, ExecuteOptions options) {
  const std::vector<Unsupported> nodes = unsupported_nodes(graph);
  if (!nodes.empty()) fail(ErrorKind::unsupported, message_of(nodes));
  impl_ = std::make_unique<Impl>(graph, std::move(options));
}

Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

std::vector<Unsupported> Executor::unsupported(const Graph& graph) {
  return unsupported_nodes(graph);
}

Outputs Executor::run(const Inputs& inputs) {
  std::vector<DatumInfo> key;
  RunState state = impl_->take_inputs(inputs, key);
  impl_->trail.clear();
  Plan* plan = &impl_->plan_for(inputs, key);
  impl_->trail.push_back(plan);
  run_steps(*plan, state, impl_->library, impl_->options.observe);
  while (plan->next < static_cast<int>(impl_->program.nodes().size())) {
    plan = &impl_->run_node(*plan, state);
    impl_->trail.push_back(plan);
    run_steps(*plan, state, impl_->library, impl_->options.observe);
  }
  return impl_->collect(*plan, state);
}

const PlanInfo& Executor::plan_info() const {
  PlanInfo& whole = impl_->info;
  whole = PlanInfo();
  for (const Plan* plan : impl_->trail) {
    const PlanInfo& part = plan->info;
    whole.steps.insert(whole.steps.end(), part.steps.begin(), part.steps.end());
    whole.arena_bytes += part.arena_bytes;
    whole.packed_bytes += part.packed_bytes;
    whole.scratchpad_bytes = std::max(whole.scratchpad_bytes, part.scratchpad_bytes);
    whole.reorders += part.reorders;
    whole.packs += part.packs;
    whole.planned_reorders += part.planned_reorders;
    whole.planned_packs += part.planned_packs;
    whole.macs += part.macs;
  }
  return whole;
}

}  // namespace relayout
