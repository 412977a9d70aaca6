// Runs a plan: binds buffers, takes memory for results, runs the steps, and notes their times.

#include "base/indexed.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/times.h"
#include "exec/arena.h"
#include "exec/kernels/kernel.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"

namespace relayout::exec {
namespace {

void bind_steps(Plan& plan) {
  if (!plan.arena.data()) plan.arena = ArenaMemory(plan.arena_layout.bytes);
  if (!plan.scratchpad.data()) plan.scratchpad = ArenaMemory(plan.info.scratchpad_bytes);
  std::size_t in_arena = 0;
  for (Buffer& buffer : plan.buffers) {
    if (buffer.kind == Buffer::Kind::arena) buffer.data = plan.arena.data() + plan.arena_layout.offsets[in_arena++];
  }
  for (Step& step : plan.steps) {
    if (step.kernel->scratchpad_bytes() > 0) step.kernel->bind_scratchpad(plan.scratchpad.data());
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const StepOperand& operand = step.operands[i];
      const Buffer& buffer = plan.buffers[operand.buffer];
      if (buffer.data != nullptr) step.kernel->bind(i, buffer.data + operand.offset);
    }
  }
  plan.is_bound = true;
}

/// Points a buffer, and the steps that touch it, at other memory.
void point(Plan& plan, const Place& place, std::byte* data) {
  Buffer& buffer = plan.buffers[place.buffer];
  if (data == buffer.data) return;
  buffer.data = data;
  const auto end = std::min(buffer.last + 1, static_cast<int64_t>(plan.steps.size()));  // an export lives beyond the last step
  for (int64_t number = buffer.first; number < end; ++number) {
    Step& step = element_at(plan.steps, number);
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operands[i].buffer == place.buffer) step.kernel->bind(i, data + step.operands[i].offset);
    }
  }
}

void bind_imports(Plan& plan, RunState& state) {
  for (const PlanPort& port : plan.imports) {
    Datum& datum = state.values[port.value];
    if (port.slot != SlotId::none) {
      plan.slots[index_of(port.slot)] = datum;
    } else {
      point(plan, port.place, datum.tensor.bytes());
    }
  }
}

void bind_results(Plan& plan, Recycler& recycler) {
  for (const PlanPort& port : plan.results) {
    const Tensor tensor = recycler.tensor(port.place.desc.type, port.place.desc.dims);
    plan.buffers[port.place.buffer].owner = tensor.owner();
    point(plan, port.place, tensor.bytes());
  }
}

/// Drops ownership of the results: the plan keeps only their addresses, so that the caller frees them by releasing them.
void release_results(Plan& plan, RunState& state) {
  for (const PlanPort& port : plan.results) {
    plan.buffers[port.place.buffer].owner.reset();
    state.own.insert(port.value);
  }
}

/// Reads what the step is the first to need of the weights that are read late.
void read_weights(Plan& plan, const Step& step) {
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    Buffer& buffer = plan.buffers[step.operands[i].buffer];
    if (!buffer.read) continue;
    if (buffer.data == nullptr) {
      const Tensor tensor = buffer.read();
      buffer.owner = tensor.owner();
      buffer.data = tensor.bytes();
    }
    step.kernel->bind(i, buffer.data + step.operands[i].offset);
  }
}

/// Drops those that no later step needs.
void drop_weights(Plan& plan, std::size_t number) {
  for (const StepOperand& operand : plan.steps[number].operands) {
    Buffer& buffer = plan.buffers[operand.buffer];
    if (!buffer.read || as_size(buffer.last) > number) continue;
    buffer.owner.reset();
    buffer.data = nullptr;
  }
}

Datum datum_of(Plan& plan, const PlanPort& port) {
  if (port.slot != SlotId::none) return plan.slots[index_of(port.slot)];
  const Buffer& buffer = plan.buffers[port.place.buffer];
  return Tensor(port.place.desc, buffer.data + port.place.offset, buffer.owner);
}

}  // namespace

/// Long chains of continuations are destroyed in a loop, not recursively.
Plan::~Plan() {
  std::vector<std::unique_ptr<Plan>> doomed;
  const auto take = [&](Plan& plan) {
    for (auto& [key, next_plan] : plan.continuations) doomed.push_back(std::move(next_plan));
    plan.continuations.clear();
  };
  take(*this);
  while (!doomed.empty()) {
    const std::unique_ptr<Plan> plan = std::move(doomed.back());
    doomed.pop_back();
    take(*plan);
  }
}

void run_steps(Plan& plan, RunState& state, const RunServices& services) {
  const auto& [recycler, library, observer, times] = services;
  if (!plan.is_bound) bind_steps(plan);
  bind_imports(plan, state);
  bind_results(plan, recycler);
  int threads = 0;
  auto observation = plan.observations.begin();
  const auto show = [&](std::size_t steps_done) {
    for (; observation != plan.observations.end() && observation->after == steps_done; ++observation) {
      std::vector<Datum> outputs;
      for (const PlanPort& port : observation->outputs) outputs.push_back(port.value == ValueId::none ? Datum() : datum_of(plan, port));
      observer(*observation, outputs);
    }
  };
  if (observer) show(0);
  // The end of a step is the beginning of the next: the clock is read once for each.
  int64_t now = times == nullptr ? 0 : steady_nanoseconds();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    if (library != nullptr && step.threads != threads) {
      library->set_threads(step.threads);
      threads = step.threads;
    }
    read_weights(plan, step);
    step.kernel->run();
    drop_weights(plan, i);
    check_interrupt();
    if (observer) show(i + 1);
    if (times != nullptr) {
      times->begins.push_back(now);
      now = steady_nanoseconds();
      times->ends.push_back(now);
    }
  }
  for (const PlanPort& port : plan.exports) state.values[port.value] = datum_of(plan, port);
  release_results(plan, state);
}

}  // namespace relayout::exec
