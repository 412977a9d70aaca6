// Turns a plan and its recorded times into a profile: one row per node with its time, and groups of rows.

#include "base/times.h"
#include "exec/program.h"
#include "profile/trace.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// Computes the times of whole runs. At least one was recorded.
void fill_latency(Latency& latency, const Recorder& recorder) {
  std::vector<double> us = recorder.walls();
  for (double& time : us) time /= kNanosecondsPerMicrosecond;
  std::ranges::sort(us);
  latency.least_us = us.front();
  latency.p90_us = quantile(us, 0.90);
  latency.p95_us = quantile(us, 0.95);
  latency.p99_us = quantile(us, 0.99);
  latency.us = estimate(std::move(us));
  latency.runs = recorder.runs();
  std::vector<double> processor_us = recorder.processors();
  for (double& time : processor_us) time /= kNanosecondsPerMicrosecond;
  latency.processor_us = estimate(std::move(processor_us));
  latency.cpu_per_wall = recorder.wall_total() > 0 ? recorder.processor_total() / recorder.wall_total() : 0;
}

/// The average number of working processors if no thread of the rows' steps ever waited.
double expected_cpus(const std::vector<ProfileRow>& rows) {
  double out = 0;
  for (const ProfileRow& row : rows) out += row.share * row.threads;
  return out;
}

/// Sets the bytes that a plan uses.
void fill_memory(Profile& profile, const PlanInfo& plan) {
  profile.arena_bytes = plan.arena_bytes;
  profile.packed_bytes = plan.packed_bytes;
  profile.scratchpad_bytes = plan.scratchpad_bytes;
  for (const StepInfo& step : plan.steps) {
    if (step.live_bytes <= profile.peak_bytes) continue;
    profile.peak_bytes = step.live_bytes;
    profile.peak_node = step.node;
  }
}

/// The steps whose times a row adds up.
struct RowSteps {
  std::vector<std::size_t> steps = {};   ///< indices among the steps that run
  std::vector<std::size_t> inner = {};   ///< inner steps
  std::vector<std::size_t> within = {};  ///< inner steps with their own rows, whose times `steps` include
};

/// The time of one row in each kept run, in microseconds.
std::vector<double> times_of(const ThinnedRuns& kept, const RowSteps& row) {
  std::vector<double> out;
  for (std::size_t run = 0; run < kept.size(); ++run) {
    int64_t sum = 0;
    for (const std::size_t step : row.steps) sum += kept.step(run, step);
    for (const std::size_t number : row.inner) sum += kept.inner(run, number);
    for (const std::size_t number : row.within) sum -= kept.inner(run, number);
    out.push_back(static_cast<double>(sum) / kNanosecondsPerMicrosecond);
  }
  return out;
}

/// The time outside of all steps in each kept run, in microseconds: binding memory, handing over results, between steps.
std::vector<double> times_outside(const ThinnedRuns& kept) {
  std::vector<double> out;
  for (std::size_t run = 0; run < kept.size(); ++run) {
    int64_t rest = kept.wall(run);
    for (std::size_t step = 0; step < kept.steps(); ++step) rest -= kept.step(run, step);
    out.push_back(static_cast<double>(rest) / kNanosecondsPerMicrosecond);
  }
  return out;
}

void measure(ProfileRow& row, std::vector<double> times) {
  constexpr double kQuartile = 0.25;
  std::ranges::sort(times);
  row.quartile_us = quantile(times, kQuartile);
  row.measured_us = estimate(std::move(times));
}

void measure_row(ProfileRow& row, const RowSteps& steps, const ThinnedRuns& kept) {
  measure(row, times_of(kept, steps));
}

ProfileRow executor_row(const ThinnedRuns& kept) {
  ProfileRow out;
  out.node = kExecutor;
  measure(out, times_outside(kept));
  return out;
}

/// Scales each row's lower quartile so that all rows add up to the median of the whole. On a busy machine a run is interrupted somewhere,
/// often repeatedly at the same step. The median of that step would include the interruption; its quartile hardly does.
void scale_to_latency(Profile& profile) {
  const Latency& latency = profile.latency;
  scale_rows(profile, (profile.clock == TimeKind::wall ? latency.us : latency.processor_us).median);
}

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

bool is_busy(const Latency& latency) noexcept {
  constexpr double kBusy = 0.9;  // of the expected processor time of the threads
  return latency.cpu_per_wall < kBusy * latency.expected_cpus;
}

void scale_rows(Profile& profile, double total_us) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.quartile_us;
  profile.total_us = total_us;
  profile.scale = sum > 0 ? total_us / sum : 1;
  for (ProfileRow& row : profile.rows) {
    row.us = row.quartile_us * profile.scale;
    row.share = total_us > 0 ? row.us / total_us : 0;
  }
}

void fill_profile(Profile& profile, const PlanInfo& plan, Recorder& recorder) {
  fill_latency(profile.latency, recorder);
  for (Gathered& gathered : gather(plan, recorder.kept().latest_inner())) {
    measure_row(gathered.row, gathered.steps, recorder.kept());
    profile.rows.push_back(std::move(gathered.row));
  }
  profile.rows.push_back(executor_row(recorder.kept()));
  scale_to_latency(profile);
  profile.latency.expected_cpus = expected_cpus(profile.rows);
  count_plan(profile, plan, recorder.kept().latest_inner());
  fill_memory(profile, plan);
  take_traces(profile, plan, recorder);
}

// Groups the rows of a profile by what they share, and splits the names of nodes into scopes.
namespace {

std::string joined(const std::vector<std::string_view>& parts, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < std::min(count, parts.size()); ++i) out += (out.empty() ? "" : "/") + std::string(parts[i]);
  return out;
}

std::string scope_of(const ProfileRow& row, std::size_t depth) {
  std::vector<std::string_view> parts = path_of(row);
  if (!parts.empty()) parts.pop_back();  // the node itself
  const std::string out = joined(parts, depth == 0 ? parts.size() : depth);
  return out.empty() ? "(top)" : out;
}

std::string key_of(const ProfileRow& row, Grouping by, std::size_t depth) {
  if (row.is_executor()) return row.node;
  switch (by) {
    case Grouping::node:
      return full_name(row);
    case Grouping::op:
      return row.op_type;
    case Grouping::layout:
      return row.layout;
    case Grouping::implementation:
      return row.implementation;
    case Grouping::scope:
      return scope_of(row, depth);
  }
  return row.node;
}

}  // namespace

std::vector<std::string_view> path_of(std::string_view node) {
  const char separator = node.find('/') != std::string_view::npos ? '/' : '.';
  std::vector<std::string_view> parts;
  while (!node.empty()) {
    const std::size_t end = node.find(separator);
    if (end != 0) parts.push_back(node.substr(0, end));
    if (end == std::string_view::npos) break;
    node.remove_prefix(end + 1);
  }
  return parts;
}

std::vector<std::string_view> path_of(const ProfileRow& row) {
  std::vector<std::string_view> parts;
  for (const std::string& caller : row.callers) std::ranges::copy(path_of(caller), std::back_inserter(parts));
  std::ranges::copy(path_of(row.node), std::back_inserter(parts));
  return parts;
}

std::string full_name(const ProfileRow& row) {
  return exec::full_name(row.callers, row.node);
}

std::string_view to_string(Grouping by) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"node", "op", "layout", "impl", "scope"});
  return kNames[static_cast<std::size_t>(by)];
}

std::vector<ProfileGroup> group_rows(const Profile& profile, Grouping by, std::size_t depth) {
  std::vector<ProfileGroup> groups;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const ProfileRow& row : profile.rows) {
    const std::string key = key_of(row, by, depth);
    const auto [entry, is_new] = numbers.try_emplace(key, groups.size());
    if (is_new) groups.push_back({.name = key});
    ProfileGroup& group = groups[entry->second];
    ++group.rows;
    group.bytes += row.bytes;
    group.macs += row.macs;
    group.us += row.us;
    group.share += row.share;
  }
  return groups;
}

}  // namespace relayout
