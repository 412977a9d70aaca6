// Holds what all routines of an executor share.
#include "exec/routine_context.h"

#include "base/indexed.h"
#include "base/machine.h"
#include "exec/primitives.h"
#include "exec/program.h"
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
