// Finds the part of a suite that this process runs, and merges the reports of parts. A scheduler's variables are read only on request,
// because a suite that silently shrinks to a part of itself would still report success.

#include <tuple>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/suite.h"
#include "suite/suite.h"

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

// Merges the reports of a suite's parts into one, and refuses parts that do not belong together or leave cases out.
namespace {

using Names = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::invalid, why);
}

/// Refuses two parts, with both values of the field in which they differ.
[[noreturn]] void refuse_mixture(const SuitePart& a, const SuitePart& b, std::string_view what, const std::string& of_a,
                                 const std::string& of_b) {
  refuse(escape(a.name) + " and " + escape(b.name) + " differ in " + std::string(what) + ": " + quote(of_a) + " and " + quote(of_b));
}

std::string joined(const Names& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Refuses parts that differ in a field on which all must agree.
void check_same(const std::vector<SuitePart>& parts) {
  const SuitePart& first = parts.front();
  for (const SuitePart& part : parts) {
    const SuiteResult &a = first.result, &b = part.result;
    if (a.version != b.version) refuse_mixture(first, part, "the version of relayout", a.version, b.version);
    if (a.tree != b.tree) refuse_mixture(first, part, "the tree", a.tree, b.tree);
    if (a.against != b.against) refuse_mixture(first, part, "--against", a.against, b.against);
    if (a.pair != b.pair) refuse_mixture(first, part, "--pair", a.pair, b.pair);
    if (a.options != b.options) refuse_mixture(first, part, "options", joined(a.options), joined(b.options));
  }
}

/// Merges the findings of parts that searched the whole suite; a run of named cases has none.
void merge_whole(const std::vector<SuitePart>& parts, SuiteResult& out) {
  const SuitePart* first = nullptr;
  for (const SuitePart& part : parts) {
    if (part.result.whole.cases == 0) continue;
    if (first == nullptr) first = &part;
    if (part.result.whole.digest != first->result.whole.digest) {
      refuse(escape(first->name) + " and " + escape(part.name) + " are parts of suites with different cases");
    }
    if (part.result.stale != first->result.stale) {
      refuse_mixture(*first, part, "exceptions that are not there", joined(first->result.stale), joined(part.result.stale));
    }
  }
  if (first == nullptr) return;
  out.whole = first->result.whole;
  out.stale = first->result.stale;
}

void merge_cases(std::vector<SuitePart>& parts, SuiteResult& out) {
  std::vector<std::pair<SuiteCase, const SuitePart*>> all;
  for (SuitePart& part : parts) {
    for (SuiteCase& one : part.result.cases) all.emplace_back(std::move(one), &part);
  }
  const auto name = [](const auto& entry) -> const std::string& { return entry.first.name; };
  std::ranges::stable_sort(all, {}, name);
  const auto twice = std::ranges::adjacent_find(all, {}, name);
  if (twice != all.end()) {
    refuse("case " + quote(name(*twice)) + " is in " + escape(twice->second->name) + " and in " + escape(std::next(twice)->second->name));
  }
  for (auto& [one, part] : all) out.cases.push_back(std::move(one));
}

/// ": no shard 2/4, 3/4; part.json was interrupted", where the parts show that.
std::string missing_shards(const std::vector<SuitePart>& parts) {
  std::set<std::pair<int64_t, int64_t>> there;
  std::set<int64_t> totals;
  for (const SuitePart& part : parts) {
    there.emplace(part.result.shard.total, part.result.shard.index);
    totals.insert(part.result.shard.total);
  }
  constexpr std::size_t kMost = 5;
  Names missing;
  for (int64_t index = 1; totals.size() == 1 && index <= *totals.begin() && missing.size() <= kMost; ++index) {
    if (!there.contains({*totals.begin(), index})) missing.push_back(std::to_string(index) + "/" + std::to_string(*totals.begin()));
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(missing.size(), kMost); ++i) out += (i == 0 ? ": no shard " : ", ") + missing[i];
  if (missing.size() > kMost) out += " …";
  for (const SuitePart& part : parts) {
    if (part.result.interruption) out += (out.empty() ? ": " : "; ") + escape(part.name) + " was interrupted";
  }
  return out;
}

Names case_names(const std::vector<SuiteCase>& cases) {
  Names out;
  for (const SuiteCase& one : cases) out.push_back(one.name);
  return out;
}

/// Compares the cases with the list of expected names.
void check_list(const Names& there, const Names& wanted, bool allow_missing) {
  Names missing, surplus;
  std::ranges::set_difference(wanted, there, std::back_inserter(missing));
  std::ranges::set_difference(there, wanted, std::back_inserter(surplus));
  if (!surplus.empty())
    refuse(some_of(surplus, 3, quote) + (surplus.size() == 1 ? " is" : " are") + " not among the cases that are listed");
  if (!missing.empty() && !allow_missing) refuse(some_of(missing, 3, quote) + (missing.size() == 1 ? " is" : " are") + " missing");
}

void check_complete(const std::vector<SuitePart>& parts, SuiteResult& out, const MergeOptions& options) {
  const Names there = case_names(out.cases);
  if (options.names) {
    Names wanted = *options.names;
    std::ranges::sort(wanted);
    const auto repeated = std::ranges::unique(wanted);
    wanted.erase(repeated.begin(), repeated.end());
    check_list(there, wanted, options.allow_missing);
    const SuiteExtent listed = extent_of(wanted);
    if (out.whole.cases == 0) out.whole = listed;
    if (listed.digest != out.whole.digest) refuse("the list has other cases than the suite that the reports are of");
    return;
  }
  if (out.whole.cases == 0) {
    if (options.allow_missing) return;
    fail(ErrorKind::usage, "the reports do not say how many cases the suite has: give the output of --list by --cases-from FILE");
  }
  const SuiteExtent extent = extent_of(there);
  if (extent.digest == out.whole.digest) return;
  if (extent.cases >= out.whole.cases) refuse("the reports have cases that the suite does not have");
  if (options.allow_missing) return;
  refuse(format_count(out.whole.cases - extent.cases) + " of " + format_count(out.whole.cases) + " cases are missing" +
         missing_shards(parts));
}

}  // namespace

SuiteResult merge_suites(std::vector<SuitePart> parts, const MergeOptions& options) {
  if (parts.empty()) fail(ErrorKind::usage, "no report to merge");
  std::ranges::sort(parts, {}, [](const SuitePart& part) { return std::tie(part.result.shard.index, part.name); });
  check_same(parts);
  const SuiteResult& first = parts.front().result;
  SuiteResult out;
  out.tree = first.tree;
  out.against = first.against;
  out.pair = first.pair;
  out.version = first.version;
  out.options = first.options;
  merge_whole(parts, out);
  for (const SuitePart& part : parts) out.seconds += part.result.seconds;
  merge_cases(parts, out);
  check_complete(parts, out, options);
  out.planned = static_cast<int64_t>(out.cases.size());
  if (options.expected.empty()) return out;
  const ExpectedCases expected = read_expected_cases(options.expected);
  apply_expected(expected, out.cases);
  // Names that a part does not have may be in other parts.
  if (!out.is_partial()) out.stale = stale_cases(expected, case_names(out.cases));
  return out;
}

}  // namespace relayout
