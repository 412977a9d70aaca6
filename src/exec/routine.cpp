// Caches plans by input shapes, runs them, and runs the nodes between them that must see data.

#include "exec/routine.h"

#include "base/indexed.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "exec/arena.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/cost.h"
#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Plans kept for other input shapes, and continuations kept for other data-dependent shapes.
constexpr std::size_t kMostPlans = 8;
/// Up to this size a computed constant that a nested graph captures is a constant there too; its bytes are then part of the key of a plan.
constexpr int64_t kKeyElements = 4096;

bool same(const DatumInfo& a, const DatumInfo& b) {
  return a.kind == b.kind && a.type == b.type && a.dims == b.dims && std::ranges::equal(a.elements, b.elements, same);
}

void forget_values(DatumInfo& info) {
  info.value = nullptr;
  for (DatumInfo& element : info.elements) forget_values(element);
}

DatumInfo shape_of(const Datum& datum) {
  DatumInfo info = info_of(datum);
  forget_values(info);
  return info;
}

DatumInfo shape_of(const KnownConstant& constant) {
  DatumInfo info;
  info.type = constant.type();
  info.dims = constant.dims();
  return info;
}

/// Identifies a constant's contents; nothing when that would take too long.
std::optional<std::string> identity_of(const KnownConstant& constant) {
  if (constant.leaf() != nullptr)
    return std::to_string(reinterpret_cast<uintptr_t>(constant.leaf())) + relayout::to_string(constant.permutation());
  if (constant.type() == DataType::string || constant.element_count() > kKeyElements) return std::nullopt;
  const Tensor tensor = contiguous(constant.tensor());
  const auto bytes = as_size(tensor.element_count()) * memory_size(tensor.type());
  return std::string(reinterpret_cast<const char*>(tensor.bytes()), bytes);
}

/// Description of a node that had to see data, for StepInfo.
StepInfo info_of_node(const ProgramNode& node) {
  StepInfo out;
  out.node = reported_name(node.shown());
  out.callers = callers_of(node);
  out.op_type = node.node->op_type();
  out.operators = {out.op_type};
  out.implementation = node.op == nullptr ? "nested" : "own";
  out.layout = "contiguous";
  return out;
}

/// A step of a nested graph, with the names of the nodes around that graph.
StepInfo placed(const Routine::Place& place, StepInfo info) {
  info.callers.insert(info.callers.begin(), place.callers.begin(), place.callers.end());
  for (std::string& name : info.absorbed) name = full_name(place.callers, name);
  return info;
}

/// Adds the steps of a plan of a nested graph that has just run.
void note_steps(InnerTimes& inner, const Routine::Place& place, const StepTimes& times, Plan& plan) {
  std::size_t step = 0;
  const bool is_first = plan.inner.empty();
  for (const StepInfo& info : plan.info.steps) {
    if (info.kind == StepKind::view) continue;
    if (is_first) plan.inner.push_back(inner.number_of(place.root, placed(place, info)));
    inner.add(plan.inner[step], {times.ends[step] - times.begins[step], 1, info.bytes, info.macs});
    ++step;
  }
}

Given value_of(ValueId value, const Plan& plan, RunState& state) {
  if (value == ValueId::none) return {};
  const auto constant = plan.constants.find(value);
  if (constant != plan.constants.end()) return {{}, constant->second};
  return {state.values[value], nullptr};
}

}  // namespace

Datum detached(const Datum& datum, Recycler& recycler) {
  if (datum.kind == Datum::Kind::tensor) {
    const Tensor& from = datum.tensor;
    Tensor out = recycler.tensor(from.type(), from.dims());
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
  for (const Datum& element : datum.elements) out.elements.push_back(detached(element, recycler));
  return out;
}

bool Routine::Key::operator==(const Key& other) const {
  return constants == other.constants && std::ranges::equal(infos, other.infos, same);
}

Routine::Routine(const Graph& graph, RoutineContext& context, Place place)
    : context_(context),
      place_(std::move(place)),
      program_(graph, context.functions,
               {.threads = context.threads,
                .seed = context.options.seed,
                .widen = context.options.mode != Mode::reference,
                .widen_all = context.options.mode == Mode::optimized && !context.options.is_watched()}) {}

Routine::~Routine() = default;

/// Records one value from outside.
void Routine::take(ValueId value, const Given& given, Key& key, RunState& state, Known& known) {
  if (!given.is_there()) {
    key.infos.emplace_back();
    return;
  }
  if (given.constant) {
    if (auto identity = identity_of(*given.constant)) {
      key.infos.push_back(shape_of(*given.constant));
      key.constants += std::to_string(identity->size()) + ":" + *identity;
      known.push_back({value, {key.infos.back(), given.constant, std::nullopt}});
      return;
    }
  }
  Datum datum = given.constant ? Datum(context_.store.read(*given.constant)) : given.datum;
  if (datum.kind == Datum::Kind::tensor) datum.tensor = contiguous(datum.tensor);
  key.infos.push_back(shape_of(datum));
  known.push_back({value, {key.infos.back(), nullptr, std::nullopt}});
  state.values[value] = std::move(datum);
}

/// Sets the states before the first node: given values and initializers, including those of inputs that were not given. Returns the values
/// that have a state.
std::vector<ValueId> Routine::begin_states(Known known) {
  states_.assign(program_.values().size(), {});
  for (auto& [value, state] : known) states_[value] = std::move(state);
  std::vector<ValueId> touched;
  for (const ValueId id : states_.ids()) {
    const Value* const value = program_.values()[id];
    ValueState& state = states_[id];
    if (!state.info) {
      if (value == nullptr || value->producer() != nullptr) continue;
      state.constant = context_.store.find_leaf(*value);
      if (!state.constant) fail(ErrorKind::invalid, "value " + quote(value->name()) + " has no contents");
      state.info = shape_of(*state.constant);
    }
    touched.push_back(id);
  }
  return touched;
}

/// Brings `states_` up to the end of the trail.
void Routine::catch_up() {
  if (states_.empty()) states_.resize(program_.values().size());
  for (; caught_up_ < trail_.size(); ++caught_up_) {
    for (const auto& [value, known] : trail_[caught_up_]->made) states_[value] = known;
  }
}

/// The routine of a graph in a node.
Routine& Routine::nested(const Graph& graph, const ProgramNode& node) {
  std::unique_ptr<Routine>& routine = nested_[&graph];
  if (routine) return *routine;
  Place place{place_.is_nested() ? place_.root : node.id, place_.callers};
  for (std::string& caller : callers_of(node)) place.callers.push_back(std::move(caller));
  place.callers.push_back(reported_name(*node.node));
  routine = std::make_unique<Routine>(graph, context_, std::move(place));
  return *routine;
}

std::vector<Datum> Routine::run_control_flow(const ProgramNode& node, const Plan& plan, RunState& state) {
  std::vector<Datum> data(node.inputs.size());
  std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    Given given = value_of(node.inputs[i], plan, state);
    data[i] = given.constant ? Datum(contiguous(context_.store.read(*given.constant))) : std::move(given.datum);
    if (data[i].kind == Datum::Kind::tensor) data[i].tensor = contiguous(data[i].tensor);
    pointers[i] = &data[i];
  }
  const RunGraph run = [&](const Graph& graph, std::vector<Datum> inputs) {
    Routine& routine = nested(graph, node);
    std::vector<Given> given, captures;
    for (Datum& input : inputs) given.push_back({std::move(input), nullptr});
    for (const ValueId capture : routine.program().captures()) {
      const Value* const value = routine.program().values()[capture];
      captures.push_back(value_of(program_.find(value), plan, state));
    }
    return routine.run(given, captures);
  };
  return relayout::exec::run_control_flow(node.call, pointers, run);
}

/// Runs the node that had to see data.
std::vector<Datum> Routine::run_node(const Plan& plan, RunState& state) {
  const ProgramNode& node = program_.nodes()[plan.next];
  std::vector<Datum> outputs;
  if (node.op == nullptr) {
    outputs = run_control_flow(node, plan, state);
    if (outputs.size() < node.outputs.size()) fail(ErrorKind::invalid, node.node->label() + ": its graph makes fewer outputs than it");
    outputs.resize(node.outputs.size());
  } else {
    std::vector<Datum> inputs(node.inputs.size());
    std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::none) continue;
      Given given = value_of(node.inputs[i], plan, state);
      inputs[i] = given.constant ? Datum(context_.store.read(*given.constant)) : std::move(given.datum);
      pointers[i] = &inputs[i];
    }
    outputs = compute_now(node, pointers);
  }
  show(node, *node.node, outputs);
  if (context_.options.watch) show_ended_calls(node, outputs, state);
  return outputs;
}

// What watchers see.

void Routine::show(const ProgramNode& in, const Node& node, const std::vector<Datum>& results) const {
  const bool is_part = in.stands_for != nullptr && &node == in.node;
  if (context_.options.observe && !is_part) context_.options.observe(node, results);
  if (context_.options.watch) show_computed(in, node, results);
}

/// Shows the results of a node: of `in`, or of a call that ends with it. Nodes that compose an operator of the file are left out.
void Routine::show_computed(const ProgramNode& in, const Node& node, const std::vector<Datum>& results) const {
  const bool is_call = in.node != &node;
  const Caller* caller = in.caller;
  for (bool inside = is_call; inside; caller = caller->outer) inside = caller->node != &node;
  std::vector<std::string> calls;
  for (const Caller* at = caller; at != nullptr; at = at->outer) {
    if (context_.functions.called_by(*at->node) == nullptr) return;
    calls.push_back(reported_name(*at->node));
  }
  Computed out{&node, &program_.graph(), place_.callers, {}, {}, results};
  out.callers.insert(out.callers.end(), calls.rbegin(), calls.rend());
  const auto resolved = [&](const Value* value) {
    const ValueId id = value == nullptr ? ValueId::none : program_.find(value);
    return id == ValueId::none ? value : program_.values()[id];
  };
  std::ranges::transform(node.inputs(), std::back_inserter(out.operands), resolved);
  std::ranges::transform(node.outputs(), std::back_inserter(out.values), resolved);
  context_.options.watch(out);
}

void Routine::show_beginning(const std::vector<Given>& inputs) const {
  std::vector<Datum> data;
  for (const Given& given : inputs) data.push_back(given.constant ? Datum(context_.store.read(*given.constant)) : given.datum);
  Computed out{nullptr, &program_.graph(), place_.callers, {}, {}, data};
  for (const ValueId input : program_.inputs()) out.values.push_back(program_.values()[input]);
  context_.options.watch(out);
}

void Routine::show_folded(const Plan& plan) const {
  for (const FoldedNode& folded : plan.folded) {
    std::vector<Datum> results;
    for (const auto& constant : folded.results) results.push_back(constant ? Datum(contiguous(context_.store.read(*constant))) : Datum());
    const ProgramNode& node = *folded.node;
    show_computed(node, *node.node, results);
    show_ended_calls(node, results, {});
  }
}

/// Shows the calls that end with a node that is not a step. Results of their other nodes are absent where they do not live on.
void Routine::show_ended_calls(const ProgramNode& last, const std::vector<Datum>& results, const RunState& state) const {
  for (const ProgramNode::Call& call : last.ended_calls) {
    std::vector<Datum> out(call.outputs.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto own = std::ranges::find(last.outputs, call.outputs[k]);
      const auto kept = state.values.find(call.outputs[k]);
      if (call.outputs[k] == ValueId::none) continue;
      if (own != last.outputs.end()) {
        out[k] = results[as_size(own - last.outputs.begin())];
      } else if (kept != state.values.end()) {
        out[k] = kept->second;
      }
    }
    show_computed(last, *call.node, out);
  }
}

/// Runs the node that had to see data, and notes its time: in the main graph all of it, in others the part outside its own nested graphs.
std::vector<Datum> Routine::run_timed(Plan& plan, RunState& state, StepTimes* times) {
  if (!context_.inner.is_on()) return run_node(plan, state);
  InnerTimes& inner = context_.inner;
  if (place_.is_nested() && plan.inner.size() == plan.steps.size()) {
    plan.inner.push_back(inner.number_of(place_.root, placed(place_, info_of_node(program_.nodes()[plan.next]))));
  }
  const int64_t inner_before = inner.total(), begin = steady_nanoseconds();
  std::vector<Datum> outputs = run_node(plan, state);
  const int64_t end = steady_nanoseconds();
  if (place_.is_nested()) {
    inner.add(plan.inner.back(), {end - begin - (inner.total() - inner_before), 1, 0, 0});
  } else {
    times->begins.push_back(begin);
    times->ends.push_back(end);
  }
  return outputs;
}

/// The plan after a node that had to see data.
Plan& Routine::continuation(Plan& plan, std::vector<Datum> outputs, RunState& state) {
  const ProgramNode& node = program_.nodes()[plan.next];
  std::vector<DatumInfo> key;
  for (Datum& output : outputs) {
    if (output.kind == Datum::Kind::tensor && output.tensor) output.tensor = contiguous(output.tensor);
    key.push_back(shape_of(output));
  }
  const auto is_it = [&](const auto& entry) { return std::ranges::equal(entry.first, key, same); };
  const auto known = std::ranges::find_if(plan.continuations, is_it);
  if (known != plan.continuations.end()) {
    plan.continuations.splice(plan.continuations.begin(), plan.continuations, known);
  } else {
    catch_up();
    std::vector<ValueId> touched;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.outputs[k] == ValueId::none) continue;
      states_[node.outputs[k]] = {key[k], nullptr, std::nullopt};
      touched.push_back(node.outputs[k]);
    }
    plan.continuations.emplace_front(key, compile(program_, context_, next_of(plan.next), states_, std::move(touched)));
    ++caught_up_;
    if (plan.continuations.size() > kMostPlans) plan.continuations.pop_back();
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.outputs[k] != ValueId::none) state.values[node.outputs[k]] = std::move(outputs[k]);
  }
  return *plan.continuations.front().second;
}

std::vector<Datum> Routine::run(const std::vector<Given>& inputs, const std::vector<Given>& captures, StepTimes* times) {
  if (!place_.is_nested()) context_.inner.begin(times != nullptr);
  const bool notes_steps = place_.is_nested() && context_.inner.is_on();
  trail_.clear();
  caught_up_ = 0;
  Key key;
  RunState state;
  Known from_outside;
  for (std::size_t i = 0; i < program_.inputs().size(); ++i) take(program_.inputs()[i], inputs[i], key, state, from_outside);
  for (std::size_t i = 0; i < program_.captures().size(); ++i) take(program_.captures()[i], captures[i], key, state, from_outside);

  const auto known = std::ranges::find_if(plans_, [&](const auto& entry) { return entry.first == key; });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
  } else {
    std::vector<ValueId> touched = begin_states(std::move(from_outside));
    plans_.emplace_front(std::move(key), compile(program_, context_, NodeId{}, states_, std::move(touched)));
    if (plans_.size() > kMostPlans) plans_.pop_back();
    caught_up_ = 1;
  }
  Plan* plan = plans_.front().second.get();
  RunServices services{context_.recycler, context_.library, {}, notes_steps ? &step_times_ : times};
  if (context_.options.is_watched()) {
    services.show = [this](const Observation& seen, const std::vector<Datum>& results) { show(*seen.in, *seen.node, results); };
  }
  if (context_.options.watch && place_.is_nested()) show_beginning(inputs);
  while (true) {
    trail_.push_back(plan);
    step_times_.begins.clear();
    step_times_.ends.clear();
    show_folded(*plan);
    run_steps(*plan, state, services);
    if (notes_steps) note_steps(context_.inner, place_, step_times_, *plan);
    if (plan->next == program_.nodes().end_id()) break;
    plan = &continuation(*plan, run_timed(*plan, state, times), state);
  }
  if (times != nullptr) times->inner = context_.inner.times();
  states_ = {};
  std::vector<Datum> out;
  for (const ValueId value : program_.outputs()) {
    if (state.own.contains(value)) {
      out.push_back(std::move(state.values[value]));
      continue;
    }
    const Given made = value_of(value, *plan, state);
    out.push_back(detached(made.constant ? Datum(context_.store.read(*made.constant)) : made.datum, context_.recycler));
  }
  return out;
}

PlanInfo Routine::info() const {
  PlanInfo whole;
  std::unordered_map<NodeId, std::size_t> places;  ///< positions among the steps of nodes that had to see data
  for (const Plan* plan : trail_) {
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
    if (plan->next == program_.nodes().end_id()) continue;
    places.emplace(plan->next, whole.steps.size());
    whole.steps.push_back(info_of_node(program_.nodes()[plan->next]));
  }
  for (const InnerTimes::Entry& entry : context_.inner.entries()) {
    const auto place = places.find(entry.root);
    whole.inner.push_back({entry.info, place == places.end() ? whole.steps.size() : place->second});
  }
  return whole;
}

// What all routines of an executor share.
RoutineContext::RoutineContext(const Model& model, ExecuteOptions given, const layout::CostModel* costs_given)
    : functions(model),
      options(std::move(given)),
      costs(costs_given),
      threads(threads_or_all(options.threads)),
      store(options.edit_constant) {
  if (options.mode != Mode::reference) library = &primitive_library();
}

// Times of the steps of nested graphs.
namespace {

std::string key_of(NodeId root, const StepInfo& info) {
  constexpr char kBetween = '\n';
  std::string out = std::to_string(index_of(root));
  const auto add = [&](std::string_view part) { out.append(1, kBetween).append(part); };
  for (const std::string& caller : info.callers) add(caller);
  add("");
  add(info.node);
  for (const std::string& name : info.absorbed) add(name);
  add("");
  add(info.op_type);
  add(to_string(info.kind));
  add(info.implementation);
  add(info.layout);
  return out;
}

}  // namespace

void InnerTimes::begin(bool is_on) {
  is_on_ = is_on;
  total_ = 0;
  times_.assign(entries_.size(), {});
}

std::size_t InnerTimes::number_of(NodeId root, StepInfo info) {
  const auto [entry, is_new] = numbers_.try_emplace(key_of(root, info), entries_.size());
  if (is_new) {
    entries_.push_back({root, std::move(info)});
    times_.emplace_back();
  }
  return entry->second;
}

void InnerTimes::add(std::size_t number, const InnerTime& call) {
  InnerTime& time = times_[number];
  time.nanoseconds += call.nanoseconds;
  time.calls += call.calls;
  time.bytes += call.bytes;
  time.macs += call.macs;
  total_ += call.nanoseconds;
}

}  // namespace relayout::exec
