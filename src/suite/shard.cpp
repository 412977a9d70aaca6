// Finds the part of a suite that this process runs, as given or from the variables of its scheduler. They are read only on request, because
// a suite that silently shrinks to a part of itself would still report success.
#include "suite/shard.h"

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/suite.h"

namespace relayout {
namespace {

struct Scheduler {
  const char *name, *index;
  const char* total;  ///< null: the scheduler does not provide it
  int64_t first;      ///< index of the first part
};

/// According to the schedulers' documentation. Slurm arrays may begin at any number and have a step; see slurm_position().
constexpr auto kSchedulers = std::to_array<Scheduler>({
    {"GitLab CI", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
    {"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
    {"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
    {"Azure Pipelines", "SYSTEM_JOBPOSITIONINPHASE", "SYSTEM_TOTALJOBSINPHASE", 1},
    {"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 1},
    {"PBS", "PBS_ARRAY_INDEX", nullptr, 1},
    {"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", 0},
    {"Kubernetes", "JOB_COMPLETION_INDEX", nullptr, 0},
    {"Cloud Run", "CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT", 0},
    {"Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0},
});

[[noreturn]] void refuse_shard(const std::string& why) {
  fail(ErrorKind::usage, "--shard " + why);
}

/// Reads variables and records their values for the report.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] bool has(const char* name) const { return !environment_(name).empty(); }
  int64_t number(const char* name) {
    const std::string value = environment_(name);
    if (value.empty()) refuse_shard("auto: " + std::string(name) + " is not set" + (read_.empty() ? "" : ", but " + read_ + " is"));
    read_ += (read_.empty() ? "" : ", ") + std::string(name) + "=" + escape(value);
    return parse_integer("--shard auto: " + std::string(name), value, 0);
  }
  [[nodiscard]] const std::string& read() const { return read_; }

 private:
  const Environment& environment_;
  std::string read_;
};

/// Position of a task in its array, from 1. A task cannot determine it in an array of numbers without a constant step.
int64_t slurm_position(Variables& variables, int64_t id, int64_t count) {
  const int64_t first = variables.number("SLURM_ARRAY_TASK_MIN"), last = variables.number("SLURM_ARRAY_TASK_MAX");
  const int64_t step = variables.has("SLURM_ARRAY_TASK_STEP") ? variables.number("SLURM_ARRAY_TASK_STEP") : 1;
  if (step < 1 || id < first || (id - first) % step != 0 || (last - first) / step + 1 != count) {
    refuse_shard("auto: the numbers of this Slurm array do not follow each other (" + variables.read() + "); give I/N");
  }
  return (id - first) / step + 1;
}

std::optional<Shard> shard_by(const Scheduler& scheduler, std::optional<int64_t> given_total, const Environment& environment) {
  Variables variables(environment);
  const bool has_index = variables.has(scheduler.index), has_total = scheduler.total != nullptr && variables.has(scheduler.total);
  if (!has_index && !has_total) return std::nullopt;
  const std::string by = " (" + std::string(scheduler.name) + ")";
  Shard shard;
  if (has_total) {
    shard.total = variables.number(scheduler.total);
    if (given_total && *given_total != shard.total) {
      refuse_shard("auto/" + std::to_string(*given_total) + ": " + variables.read() + by + " contradicts it");
    }
    // Jobs that are not parallel have a total of 1 and may have no index.
    if (!has_index && shard.total == 1) return Shard{1, 1, variables.read() + by};
  } else if (given_total) {
    shard.total = *given_total;
  } else if (scheduler.total == nullptr) {
    refuse_shard("auto: " + std::string(scheduler.index) + " is set" + by + ", but not of how many: give auto/N");
  }
  const int64_t index = variables.number(scheduler.index);
  if (scheduler.total != nullptr && !has_total) (void)variables.number(scheduler.total);
  shard.index = scheduler.name == std::string_view("Slurm") ? slurm_position(variables, index, shard.total) : index - scheduler.first + 1;
  shard.source = variables.read() + by;
  if (shard.index < 1 || shard.index > shard.total) {
    refuse_shard("auto: " + shard.source + ": there is no part " + std::to_string(shard.index) + " of " + std::to_string(shard.total));
  }
  return shard;
}

/// The part that the scheduler assigns. Schedulers may be nested; then only one of them may have more than one part.
Shard shard_by_scheduler(std::optional<int64_t> given_total, const Environment& environment) {
  std::optional<Shard> found;
  for (const Scheduler& scheduler : kSchedulers) {
    const std::optional<Shard> shard = shard_by(scheduler, given_total, environment);
    if (!shard) continue;
    if (found && found->total > 1 && shard->total > 1) {
      refuse_shard("auto: two schedulers name a part: " + found->source + " and " + shard->source + "; give I/N");
    }
    if (!found || shard->total > 1) found = shard;
  }
  if (found) return *found;
  std::string names;
  for (const Scheduler& scheduler : kSchedulers) names += (names.empty() ? "" : ", ") + std::string(scheduler.name);
  refuse_shard("auto: no variable of a known scheduler is set (" + names + "); give I/N");
}

}  // namespace

Shard shard_of(const std::string& word, const Environment& environment) {
  if (word.empty()) return {};
  const std::size_t slash = word.find('/');
  if (word == "auto") return shard_by_scheduler(std::nullopt, environment);
  if (slash == std::string::npos) refuse_shard(quote(word) + ": neither I/N nor auto");
  const int64_t total = parse_integer("--shard " + escape(word), word.substr(slash + 1), 1);
  if (word.substr(0, slash) == "auto") return shard_by_scheduler(total, environment);
  const int64_t index = parse_integer("--shard " + escape(word), word.substr(0, slash), 1);
  if (index > total) refuse_shard(quote(word) + ": there is no part " + std::to_string(index) + " of " + std::to_string(total));
  return {index, total, ""};
}

std::string shard_text(const Shard& shard) {
  return std::to_string(shard.index) + "/" + std::to_string(shard.total) + (shard.source.empty() ? "" : ", from " + shard.source);
}

std::string part_text(const SuiteResult& result) {
  if (result.whole.cases == 0) return counted(result.planned, "case");
  return format_count(result.planned) + " of " + counted(result.whole.cases, "case");
}

}  // namespace relayout
