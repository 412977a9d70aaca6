// Gathers the steps of a plan in the rows of a profile: steps of one node and copies inside it in one row, reorders and packs in rows of
// their own, nodes within it after it; counts of reorders, views.
#include "profile/rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/latency.h"
#include "profile/peak_memory.h"
#include "profile/recorder.h"
#include "profile/row_times.h"
#include "profile/thinned_runs.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// A row and the steps that it consists of.
struct Gathered {
  ProfileRow row;
  RowSteps steps = {};
};

bool is_copy(StepKind kind) {
  return kind == StepKind::reorder || kind == StepKind::pack;
}

/// Copies inside a node belong to its row; reorders and packs between nodes have their own rows.
bool continues(const ProfileRow& row, const StepInfo& step) {
  return !is_copy(row.kind) && !is_copy(step.kind) && row.node == step.node && row.callers == step.callers && row.absorbed == step.absorbed;
}

void add_implementation(ProfileRow& row, const StepInfo& step) {
  // The operands of the computation are more informative than the copies around it.
  if (step.kind == StepKind::inside && !row.implementation.empty()) return;
  if (row.kind == StepKind::inside && step.kind == StepKind::node) row.implementation.clear();
  if (row.implementation.find(step.implementation) != std::string::npos) return;
  row.implementation += (row.implementation.empty() ? "" : " + ") + step.implementation;
}

void add_step(ProfileRow& row, const StepInfo& step) {
  add_implementation(row, step);
  if (row.steps == 0 || step.kind == StepKind::node) {
    row.kind = step.kind;
    row.op_type = step.op_type;
  }
  row.layout = step.layout;
  row.dims = step.dims;
  row.bytes += step.bytes;
  row.macs += step.macs;
  row.live_bytes = std::max(row.live_bytes, step.live_bytes);
  row.threads = std::max(row.threads, step.threads);
  ++row.steps;
}

ProfileRow row_of(const StepInfo& step) {
  return {.node = step.node,
          .callers = step.callers,
          .absorbed = step.absorbed,
          .operators = step.operators,
          .kind = step.kind,
          .inputs = step.inputs};
}

/// Groups steps into rows in the order they run.
class Gathering {
 public:
  /// The row of the step.
  Gathered& take(const StepInfo& step) {
    if (is_copy(step.kind) || latest_ == 0 || !continues(rows_[latest_ - 1].row, step)) {
      rows_.push_back({row_of(step)});
      if (!is_copy(step.kind)) latest_ = rows_.size();
    }
    Gathered& row = is_copy(step.kind) ? rows_.back() : rows_[latest_ - 1];
    add_step(row.row, step);
    return row;
  }
  [[nodiscard]] std::vector<Gathered> rows() { return std::move(rows_); }

 private:
  std::vector<Gathered> rows_;
  std::size_t latest_ = 0;  ///< one past the latest row that is not a copy
};

void add_inner(Gathered& row, std::size_t number, const InnerTime& time) {
  row.row.calls = row.steps.inner.empty() ? time.calls : std::max(row.row.calls, time.calls);
  row.steps.inner.push_back(number);
}

/// Gathers the steps, each followed by its inner steps.
std::vector<Gathered> gather(const PlanInfo& plan, const std::vector<InnerTime>& inner_times) {
  Gathering gathering;
  std::multimap<std::size_t, std::size_t> inner;  // by the enclosing step
  for (std::size_t i = 0; i < inner_times.size(); ++i) inner.emplace(plan.inner[i].within, i);
  std::size_t number = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].kind == StepKind::view) continue;
    Gathered& row = gathering.take(plan.steps[s]);
    row.steps.steps.push_back(number++);
    const auto [begin, end] = inner.equal_range(s);
    for (auto entry = begin; entry != end; ++entry) row.steps.within.push_back(entry->second);
    for (auto entry = begin; entry != end; ++entry) {
      StepInfo step = plan.inner[entry->second].info;
      step.bytes = inner_times[entry->second].bytes;
      step.macs = inner_times[entry->second].macs;
      add_inner(gathering.take(step), entry->second, inner_times[entry->second]);
    }
  }
  return gathering.rows();
}

void count_plan(Profile& profile, const PlanInfo& plan, const std::vector<InnerTime>& inner_times) {
  profile.reorders = plan.reorders;
  profile.packs = plan.packs;
  profile.macs = plan.macs;
  for (const InnerTime& time : inner_times) profile.macs += time.macs;
  profile.views = std::ranges::count(plan.steps, StepKind::view, &StepInfo::kind);
}

void take_traces(Profile& profile, const PlanInfo& plan, Recorder& recorder) {
  profile.traced = recorder.take_traced();
  profile.untraced_steps = (recorder.runs() - static_cast<int64_t>(profile.traced.size())) * static_cast<int64_t>(recorder.kept().steps());
  if (profile.traced.empty()) return;
  for (const StepInfo& step : plan.steps) {
    if (step.kind != StepKind::view) profile.timed_steps.push_back(step);
  }
}

}  // namespace

void fill_profile(Profile& profile, const PlanInfo& plan, Recorder& recorder) {
  fill_latency(profile.latency, recorder);
  for (Gathered& gathered : gather(plan, recorder.kept().latest_inner())) {
    measure_row(gathered.row, gathered.steps, recorder.kept());
    profile.rows.push_back(std::move(gathered.row));
  }
  profile.rows.push_back(executor_row(recorder.kept()));
  scale_rows(profile);
  profile.latency.expected_cpus = expected_cpus(profile.rows);
  count_plan(profile, plan, recorder.kept().latest_inner());
  fill_memory(profile, plan);
  take_traces(profile, plan, recorder);
}

}  // namespace relayout
