#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/inputs.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {

struct ModelDiff;

/// The time that a comparison counts: wall-clock time, or the time of the processors that worked for this process.
enum class TimeKind : uint8_t { wall, processor };
[[nodiscard]] std::string_view to_string(TimeKind kind) noexcept;

struct ProfileOptions : InputOptions {
  LoadOptions load;
  Mode mode = Mode::optimized;
  int threads = 0;              ///< 0: available_cpus()
  int repeat = 0;               ///< number of runs (for two models: pairs of runs) to measure; 0: 50 (pairs: 100)
  std::optional<double> until;  ///< measure until the half-width of the interval is below this fraction of the median
  /// Begin no more runs after this time, but run at least 10 times (pairs: in each round once) or `repeat` times; none: 20 s, unlimited
  /// with `repeat`.
  std::optional<double> max_seconds;
  std::optional<TimeKind> clock;  ///< clock of a comparison; none: processor time with one thread, else wall time
  int traced_runs = 0;            ///< number of runs whose step times are kept

  /// Called with the current stage and the numbers of completed and of all runs.
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// Machine and software of a measurement. Profiles of different contexts are not comparable.
struct ProfileContext {
  std::string cpu, isa;          ///< "AMD EPYC 9R14"; the instruction set that oneDNN uses: "AVX-512"
  std::string relayout, onednn;  ///< versions
  int threads = 1;
  int processors = 0, affinity = 0;  ///< processors of the machine; processors that this process may run on
  int quota = 0;                     ///< processors that the control group grants, rounded up; 0: no limit
  double load = 0;                   ///< load average of the last minute at the start of the measurement
};

/// One row of the table: a node with the nodes it absorbed, a copy, or the executor itself.
struct ProfileRow {
  std::string node = {};                  ///< as in StepInfo; "(executor)" for time outside of all steps
  std::vector<std::string> callers = {};  ///< as in StepInfo; the row of an If, Loop, Scan or SequenceMap excludes the rows within it
  std::vector<std::string> absorbed = {};
  std::vector<std::string> operators = {};  ///< operator of `node`, then of each of `absorbed`; none for the executor
  std::string op_type = {};                 ///< "Conv + Relu", "Reorder", "Pack"; empty for the executor
  StepKind kind = StepKind::node;
  std::string layout = {}, implementation = {};
  std::vector<Dims> inputs = {};
  Dims dims = {};
  int64_t steps = 0;            ///< number of steps in this row
  int64_t calls = 1;            ///< calls in one run; more than one within a Loop
  int64_t bytes = 0, macs = 0;  ///< moved and computed in one run
  int64_t live_bytes = 0;       ///< bytes of activations alive while it runs
  int threads = 1;
  Estimate measured_us = {};  ///< microseconds of one run
  double quartile_us = 0;     ///< the lower quartile over runs: hardly affected by time slices of other processes, which hit single steps
  double us = 0;              ///< its share of Profile::total_us in microseconds: `quartile_us` × Profile::scale
  double share = 0;           ///< `us` over the total
  [[nodiscard]] bool is_executor() const noexcept { return steps == 0; }
};

struct Latency {
  Estimate us;
  Estimate processor_us;                                    ///< processor time of one run, summed over all processors
  double least_us = 0, p90_us = 0, p95_us = 0, p99_us = 0;  ///< nearest rank
  double load_us = 0;                                       ///< reading the file
  double plan_us = 0;                                       ///< creating the executor and its plan, packing weights
  double first_us = 0;                                      ///< the steps of the first run
  double cpu_per_wall = 0;                                  ///< average number of working processors
  double expected_cpus = 0;                                 ///< the same if no thread ever waited: threads per step, weighted by time
  int64_t runs = 0;
  bool stopped_early = false;  ///< `max_seconds` ended the measurement before the requested precision or number of runs was reached
};

/// Step times of one run, for a timeline.
struct TracedRun {
  int64_t number = 0;                 ///< number among the measured runs, from 0
  int64_t begin = 0, end = 0;         ///< nanoseconds since the start of the first measured run
  std::vector<int64_t> begins, ends;  ///< one for each of Profile::timed_steps
};

/// Peak rates of a machine with some number of threads, in 10⁹ per second: single-precision operations (a multiply-add counts as two),
/// and bytes moved between processor and memory.
struct MachinePeak {
  double gflops = 0, gigabytes = 0;
  bool is_measured = false;  ///< measured by measure_peak(), else given by the user
};
/// Measures the peak in about a second: multiply-adds in registers, and sums of arrays larger than the caches. Takes the best of five
/// passes by processor time, which other processes hardly disturb.
[[nodiscard]] MachinePeak measure_peak(int threads);
/// The rate of work that took `us` microseconds, in 10⁹ operations or bytes per second. No result for work that was not counted or timed.
[[nodiscard]] std::optional<double> gflops(int64_t macs, double us) noexcept;
[[nodiscard]] std::optional<double> gigabytes(int64_t bytes, double us) noexcept;
/// The roofline: the highest attainable rate, in 10⁹ operations per second, of work with this number of operations per byte.
[[nodiscard]] double attainable_gflops(const MachinePeak& peak, double flop_per_byte);
/// The least time of the work at the peak over the measured time. No result where the work moves no bytes, or took less than that time:
/// operands in caches, types narrower than single precision, algorithms with fewer operations.
[[nodiscard]] std::optional<double> part_of_peak(const MachinePeak& peak, int64_t macs, int64_t bytes, double us);

struct Profile {
  std::string model;
  int64_t file_bytes = 0;
  Mode mode = Mode::optimized;
  std::string precision;               ///< floating-point types of the weights: "f32", "f32 + f16"
  std::map<std::string, Dims> inputs;  ///< dims of the inputs in the runs
  std::vector<std::string> assumed;    ///< assumed sizes of free dims: "N = 1"
  ProfileContext context;
  Latency latency;
  TimeKind clock = TimeKind::wall;  ///< clock whose time the rows divide among them
  double total_us = 0;              ///< median time of a run by that clock; in a comparison by pairs, adjusted to the pairs' ratio
  std::vector<ProfileRow> rows;     ///< in order of execution, the executor last; their `us` add up to the total
  double scale = 1;                 ///< the total over the sum of the rows' quartiles
  int64_t views = 0;                ///< number of nodes that are views of their input: nothing runs
  int64_t reorders = 0, packs = 0;
  int64_t macs = 0;
  int64_t arena_bytes = 0, packed_bytes = 0, scratchpad_bytes = 0;
  int64_t peak_bytes = 0;             ///< largest total size of simultaneously alive activations
  std::string peak_node;              ///< the node that runs at that time
  std::vector<StepInfo> timed_steps;  ///< steps of the entries of TracedRun; empty when nothing was traced
  std::vector<TracedRun> traced;
  int64_t untraced_steps = 0;       ///< number of steps of measured runs that are not in `traced`
  std::optional<MachinePeak> peak;  ///< peak with which reports compare the rows, if known
};

/// Whether threads waited for processors in use by others: the processor time is less than nine tenths of the expected time of the steps'
/// threads.
[[nodiscard]] bool is_busy(const Latency& latency) noexcept;

/// Runs a model repeatedly and attributes its time to nodes. Memory grows with steps, not with runs. Throws Error{usage} when inputs cannot
/// be guessed, and the errors of Model::load() and Executor.
[[nodiscard]] Profile profile(const std::filesystem::path& model, const ProfileOptions& options = {});

/// The components of a node's name, which exporters form as a path: "/layer1/layer1.0/conv1/Conv" → layer1, layer1.0, conv1, Conv. Names
/// without a slash are split at dots. The result refers to `node`.
[[nodiscard]] std::vector<std::string_view> path_of(std::string_view node);

/// The paths of the row's callers and node concatenated: scopes, then the node's own name. The result refers to `row`.
[[nodiscard]] std::vector<std::string_view> path_of(const ProfileRow& row);
/// The callers' names followed by the node's: "loop › Exp_1".
[[nodiscard]] std::string full_name(const ProfileRow& row);

/// The key by which rows are grouped.
enum class Grouping : uint8_t { node, op, layout, implementation, scope };
[[nodiscard]] std::string_view to_string(Grouping by) noexcept;

struct ProfileGroup {
  std::string name;
  int64_t rows = 0, bytes = 0, macs = 0;
  double us = 0, share = 0;
};

/// Groups rows by `by`, in order of first execution. A scope is the first `depth` components of a node's path: "/layer1/layer1.0/Conv" is
/// in "layer1" at depth 1. At depth 0 it is the whole path without the last component.
[[nodiscard]] std::vector<ProfileGroup> group_rows(const Profile& profile, Grouping by, std::size_t depth = 1);

/// Why corresponding rows of two models take different time.
enum class Cause : uint8_t {
  folded,       ///< a node of the first model folded into constants of the second, or the consumer of these constants
  fused,        ///< nodes fused in one model but not in the other
  layout,       ///< the same nodes in a different layout
  kernel,       ///< the same nodes and layout with a different implementation
  reorder,      ///< copies into other layouts, and dense copies
  removed,      ///< a node of the first model without a counterpart or an account in the second
  added,        ///< a node in the second model only
  unexplained,  ///< only the time differs; also the executor's own time
};
[[nodiscard]] std::string_view to_string(Cause cause) noexcept;

/// Corresponding rows of both models, or a row of one model only.
struct PairedRow {
  std::optional<std::size_t> a, b;  ///< indices into Profile::rows
  Cause cause = Cause::unexplained;
  double difference_us = 0;  ///< b's share of its total minus a's, in microseconds
};

/// Two models measured in turn on the same machine.
struct ProfileComparison {
  Profile a, b;
  TimeKind clock = TimeKind::wall;
  Estimate ratio;                         ///< time of b over time of a: median over rounds of the median of paired ratios
  int64_t pairs = 0;                      ///< number of pairs of runs: AB BA AB …
  int64_t rounds = 0;                     ///< each with new executors, to average over placements in memory
  std::vector<PairedRow> rows;            ///< each row of both once; the differences add up to that of the totals
  std::map<std::string, int64_t> folded;  ///< number of nodes of a that constants of b account for, by operator
  bool proved = false;                    ///< all folds of the second model were recomputed, and nothing is unexplained
  double common = 1;                      ///< share of the models' nodes that correspond, see ModelDiff::share_in_common()
  bool is_related = true;                 ///< false: rows are not paired, and causes tell only which model has a row
};

/// Profiles both models and compares them by pairs of runs. Inputs of the same name get the same contents. Errors as profile() of one
/// model.
[[nodiscard]] ProfileComparison profile(const std::filesystem::path& a, const std::filesystem::path& b, const ProfileOptions& options = {});

/// Reads the parts of a profile written by `relayout profile --json` that comparisons need. Error{invalid} describes the fault in the file.
[[nodiscard]] Profile read_profile(const std::filesystem::path& path);
/// Compares two profiles that were measured independently, by the differences of their models. There are no pairs and no rounds; the
/// interval of the ratio spans the extremes of both.
[[nodiscard]] ProfileComparison compare_profiles(Profile a, Profile b, const ModelDiff& diff);

/// The runs that a trace shows, at most: enough to show repetition; some hundred kilobytes for a network of a hundred steps.
inline constexpr int kTracedRuns = 10;

/// A trace and the amount of data left out of it.
struct TraceText {
  std::string text;
  int64_t runs = 0, left_out = 0;  ///< number of runs in the trace; number of steps of measured runs that are not
};

/// The traced runs as trace events (chrome://tracing, Perfetto, HolisticTraceAnalysis). Contains one complete event per step, named by
/// operator or, with `names_of_nodes`, by node; events "(executor)" of the time between them, with which they add up to the run; spans
/// "ProfilerStep#N"; and a counter of the memory in use. Leaves out whole runs to keep to `most_events` events.
[[nodiscard]] TraceText trace_text(const Profile& profile, bool names_of_nodes = false, int64_t most_events = 1'000'000);
/// The same bytes as a gzip file.
[[nodiscard]] std::string gzip_text(std::string_view text);
/// One line per row in the format of flame graph tools: "scope;scope;node nanoseconds". Frames are components of the nodes' paths.
[[nodiscard]] std::string collapsed_stacks(const Profile& profile);
/// The IR versions of a model (`had`) and of its annotated copy (`has`).
struct AnnotatedVersion {
  int64_t had = 0, has = 0;
};
/// Writes the profiled model with time, share, layout and implementation in its nodes' metadata_props ("relayout.time_us" …), which graph
/// viewers show. An absorbed node names the node that absorbed it. Nodes have metadata from IR version 10 on; an older model is raised to
/// it. Error{unsupported} below version 4, where that would change the meaning of the model's initializers.
AnnotatedVersion annotate(const std::filesystem::path& model, const Profile& profile, const std::filesystem::path& output,
                          const LoadOptions& load = {});

}  // namespace relayout
