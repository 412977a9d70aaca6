#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profile/trace.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout::test {

inline StepInfo step(const std::string& node, const std::string& op, StepKind kind = StepKind::node) {
  StepInfo out;
  out.node = node;
  out.op_type = op;
  out.operators = {op};
  out.kind = kind;
  out.implementation = "own";
  out.layout = "contiguous";
  return out;
}

/// A reorder, Conv + Relu (two steps and a copy inside), a view, MaxPool.
inline PlanInfo example_plan() {
  PlanInfo plan;
  plan.reorders = 1;
  plan.steps.push_back(step("/net/conv/Conv", "Reorder", StepKind::reorder));
  for (const StepKind kind : {StepKind::inside, StepKind::node, StepKind::node}) {
    StepInfo part = step("/net/conv/Conv", kind == StepKind::inside ? "Reorder" : "Conv + Relu", kind);
    part.operators = {"Conv", "Relu"};
    part.absorbed = {"/net/relu/Relu"};
    part.implementation = kind == StepKind::inside ? "copy" : "brgconv";
    part.bytes = 100;
    plan.steps.push_back(part);
  }
  plan.steps.back().macs = 1000;
  plan.steps.back().live_bytes = 4096;
  plan.steps.push_back(step("/net/flat/Flatten", "Flatten", StepKind::view));
  plan.steps.push_back(step("/net/pool/MaxPool", "MaxPool"));
  return plan;
}

/// Runs of its five executed steps; run r takes 1000 + r nanoseconds in each step, with 500 before the first.
inline Profile example_profile(int runs, int traced = 0) {
  constexpr std::size_t kSteps = 5;
  const PlanInfo plan = example_plan();
  Recorder recorder(kSteps, traced);
  int64_t now = 1'000'000;
  for (int run = 0; run < runs; ++run) {
    const int64_t begin = now;
    StepTimes times;
    now += 500;
    for (std::size_t i = 0; i < kSteps; ++i) {
      times.begins.push_back(now);
      now += 1000 + run;
      times.ends.push_back(now);
    }
    recorder.add(begin, now, now - begin, times);
  }
  Profile profile;
  profile.model = "net.onnx";
  fill_profile(profile, plan, recorder);
  return profile;
}

}  // namespace relayout::test
