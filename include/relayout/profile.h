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

/// The time that a comparison counts: of the clock on the wall, or of the processors that worked for this process.
enum class TimeKind : uint8_t { wall, processor };
[[nodiscard]] std::string_view to_string(TimeKind kind) noexcept;

struct ProfileOptions : InputOptions {
  LoadOptions load;
  Mode mode = Mode::optimized;
  int threads = 0;                ///< 0: available_cpus()
  int repeat = 0;                 ///< runs (of two models: pairs of runs) to measure; 0: 50 (pairs: 100), within `max_seconds`
  std::optional<double> until;    ///< measure until the half-width of the interval is below this part of the median
  double max_seconds = 20;        ///< no more runs are begun then (10 at least are done; `repeat` is done in any case)
  std::optional<TimeKind> clock;  ///< of a comparison; nothing: processor time at one thread, else wall time
  int traced_runs = 0;            ///< of how many runs the times of single steps are kept
  /// The current step, and how many of all runs are done.
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// The place and the tools of a measurement: profiles of different contexts do not compare.
struct ProfileContext {
  std::string cpu, isa;          ///< "AMD EPYC 9R14", what oneDNN uses: "AVX-512"
  std::string relayout, onednn;  ///< versions
  int threads = 1;
  int processors = 0, affinity = 0;  ///< of the machine; that this process may run on
  int quota = 0;                     ///< processors that the control group grants, rounded up; 0: no limit
  double load = 0;                   ///< average of the last minute when measuring began
};

/// One row of the table: a node with what it absorbed, a copy, or the executor itself.
struct ProfileRow {
  std::string node = {};                  ///< as in StepInfo; "(executor)" is what no step accounts for
  std::vector<std::string> callers = {};  ///< as in StepInfo: the row of an If, Loop, Scan or SequenceMap holds what rows within it do not
  std::vector<std::string> absorbed = {};
  std::vector<std::string> operators = {};  ///< of `node`, then of each of `absorbed`; none of the executor
  std::string op_type = {};                 ///< "Conv + Relu", "Reorder", "Pack"; empty of the executor
  StepKind kind = StepKind::node;
  std::string layout = {}, implementation = {};
  std::vector<Dims> inputs = {};
  Dims dims = {};
  int64_t steps = 0;            ///< that make up this row
  int64_t calls = 1;            ///< in one run: iterations, of what is within a Loop
  int64_t bytes = 0, macs = 0;  ///< moved and computed in one run
  int64_t live_bytes = 0;       ///< of activations while it runs
  int threads = 1;
  Estimate measured_us = {};  ///< microseconds of one run
  double quartile_us =
      0;             ///< a quarter of the runs took no longer: other processes' time slices, which fall on single steps, hardly reach it
  double us = 0;     ///< its part of Profile::total_us: `quartile_us` × Profile::scale
  double share = 0;  ///< the same over the total
  [[nodiscard]] bool is_executor() const noexcept { return steps == 0; }
};

struct Latency {
  Estimate us;
  Estimate processor_us;                                    ///< time of all processors in one run
  double least_us = 0, p90_us = 0, p95_us = 0, p99_us = 0;  ///< nearest rank
  double load_us = 0;                                       ///< reading the file
  double plan_us = 0;                                       ///< making the executor and its plan, packing weights
  double first_us = 0;                                      ///< the steps of the first run
  double cpu_per_wall = 0;                                  ///< processors that worked, on average
  double expected_cpus = 0;                                 ///< the same if no thread ever waited: threads of the steps, by their time
  int64_t runs = 0;
  bool stopped_early = false;  ///< max_seconds ended it before what was asked for was reached
};

/// Steps of single runs, for a timeline.
struct TracedRun {
  int64_t number = 0;                 ///< among the measured runs, from 0
  int64_t begin = 0, end = 0;         ///< nanoseconds from the first measured run's beginning
  std::vector<int64_t> begins, ends;  ///< of each step of Profile::timed_steps
};

/// What a machine reaches at most with some threads: operations on single-precision numbers (a multiply-add is two), and bytes moved
/// between processor and memory. In 10⁹ per second.
struct MachinePeak {
  double gflops = 0, gigabytes = 0;
  bool is_measured = false;  ///< by measure_peak(), else given
};
/// Multiply-adds in registers, and sums of arrays beyond the caches, for about a second: the best of five passes by processor time, which
/// other processes hardly disturb.
[[nodiscard]] MachinePeak measure_peak(int threads);
/// The roofline: what work of this many operations per byte reaches at most.
[[nodiscard]] double attainable_gflops(const MachinePeak& peak, double flop_per_byte);
/// The least time that the work takes at the peak over the time that it took. Nothing where it moves no bytes, or took less: operands that
/// lie in caches, types narrower than single precision, algorithms with fewer operations.
[[nodiscard]] std::optional<double> part_of_peak(const MachinePeak& peak, int64_t macs, int64_t bytes, double us);

struct Profile {
  std::string model;
  int64_t file_bytes = 0;
  Mode mode = Mode::optimized;
  std::string precision;               ///< floating-point types of the weights: "f32", "f32 + f16"
  std::map<std::string, Dims> inputs;  ///< as they were run
  std::vector<std::string> assumed;    ///< "N = 1": sizes that nothing gave
  ProfileContext context;
  Latency latency;
  TimeKind clock = TimeKind::wall;  ///< whose time the rows part
  double total_us = 0;              ///< median of a run by that clock; in a comparison by pairs moved to where both have the pairs' ratio
  std::vector<ProfileRow> rows;     ///< in the order they run, the executor last: `us` of all add up to the total
  double scale = 1;                 ///< the total over the sum of the rows' quartiles
  int64_t views = 0;                ///< nodes that only look at their input in another way: nothing runs
  int64_t reorders = 0, packs = 0;
  int64_t macs = 0;
  int64_t arena_bytes = 0, packed_bytes = 0, scratchpad_bytes = 0;
  int64_t peak_bytes = 0;             ///< most activations alive at a time
  std::string peak_node;              ///< that runs then
  std::vector<StepInfo> timed_steps;  ///< what TracedRun's entries are of; empty when nothing was traced
  std::vector<TracedRun> traced;
  int64_t untraced_steps = 0;       ///< steps of measured runs that `traced` leaves out
  std::optional<MachinePeak> peak;  ///< what reports hold the rows against, where it is known
};

/// Whether threads waited for processors that others used: the processor time is less than nine tenths of what the steps' threads
/// would take.
[[nodiscard]] bool is_busy(const Latency& latency) noexcept;

/// Runs a model again and again and says where its time goes. Memory grows with steps, not with runs. Error{usage} where inputs cannot be
/// guessed, and what loading and executing throw.
[[nodiscard]] Profile profile(const std::filesystem::path& model, const ProfileOptions& options = {});

/// The parts of a node's name that exporters make a path: "/layer1/layer1.0/conv1/Conv" → layer1, layer1.0, conv1, Conv; names without a
/// slash are parted at dots.
[[nodiscard]] std::vector<std::string_view> path_of(std::string_view node);

/// The paths of the row's callers and its node in one: scopes, the node's own name last.
[[nodiscard]] std::vector<std::string_view> path_of(const ProfileRow& row);
/// "loop › Exp_1": the callers' names in front of the node's.
[[nodiscard]] std::string full_name(const ProfileRow& row);

/// The key by which rows are put together.
enum class Grouping : uint8_t { node, op, layout, implementation, scope };
[[nodiscard]] std::string_view to_string(Grouping by) noexcept;

struct ProfileGroup {
  std::string name;
  int64_t rows = 0, bytes = 0, macs = 0;
  double us = 0, share = 0;
};

/// Rows of one kind together, in the order they first run. A scope is the first `depth` parts of a node's path: "/layer1/layer1.0/Conv"
/// is in "layer1" at depth 1; depth 0: the whole path but its last part.
[[nodiscard]] std::vector<ProfileGroup> group_rows(const Profile& profile, Grouping by, std::size_t depth = 1);

/// Why a row of one model takes another time than that of the other.
enum class Cause : uint8_t {
  folded,       ///< a node of the first model is gone, and the second one's constants account for it; the node that reads those
  fused,        ///< nodes run together in one model and not in the other
  layout,       ///< the same nodes, in another layout
  kernel,       ///< the same nodes and layout, by another implementation
  reorder,      ///< copies into other layouts, and dense ones
  removed,      ///< a node of the first model is gone, and nothing accounts for it
  added,        ///< a node that only the second model has
  unexplained,  ///< nothing differs but the time; and the executor's own
};
[[nodiscard]] std::string_view to_string(Cause cause) noexcept;

/// A row of each model, or of one.
struct PairedRow {
  std::optional<std::size_t> a, b;  ///< numbers of rows
  Cause cause = Cause::unexplained;
  double difference_us = 0;  ///< of their parts of the totals
};

/// Two models in turn on the same machine.
struct ProfileComparison {
  Profile a, b;
  TimeKind clock = TimeKind::wall;
  Estimate ratio;                         ///< time of b over time of a: median over rounds of the median of paired ratios
  int64_t pairs = 0;                      ///< of runs: AB BA AB …
  int64_t rounds = 0;                     ///< each with executors of its own, so that where memory happens to lie evens out
  std::vector<PairedRow> rows;            ///< every row of both once: differences add up to that of the totals
  std::map<std::string, int64_t> folded;  ///< nodes of a that constants of b account for, by operator
  bool proved = false;                    ///< what the second model folded was recomputed, and nothing is unexplained
  double common = 1;                      ///< part of the models' nodes that belong together, see ModelDiff::share_in_common()
  bool is_related = true;                 ///< else rows are those of one model or the other, and causes say no more than that
};

/// Profiles both and compares them pair by pair. The models get the same inputs where they have inputs of the same name.
[[nodiscard]] ProfileComparison profile(const std::filesystem::path& a, const std::filesystem::path& b, const ProfileOptions& options = {});

/// A profile as `relayout profile --json` writes it, with what comparisons need of it. Error{invalid} says what is wrong with the file.
[[nodiscard]] Profile read_profile(const std::filesystem::path& path);
/// Two profiles that were measured apart, by what the models differ in: no pairs, no rounds, and an interval of the extremes of both.
[[nodiscard]] ProfileComparison compare_profiles(Profile a, Profile b, const ModelDiff& diff);

/// A trace, and what it leaves out.
struct TraceText {
  std::string text;
  int64_t runs = 0, left_out = 0;  ///< runs in it; steps of measured runs that are not
};

/// The traced runs as trace events (chrome://tracing, Perfetto, HolisticTraceAnalysis): one complete event per step, named by operator or,
/// with `names_of_nodes`, by node; spans "ProfilerStep#N"; a counter of the memory in use. At most `most_events` events: whole runs are
/// left out.
[[nodiscard]] TraceText trace_text(const Profile& profile, bool names_of_nodes = false, int64_t most_events = 1'000'000);
/// The same bytes as a gzip file.
[[nodiscard]] std::string gzip_text(std::string_view text);
/// One line per row, "scope;scope;node nanoseconds", as flame graph tools read it. Frames are parts of the nodes' paths.
[[nodiscard]] std::string collapsed_stacks(const Profile& profile);
/// The IR version that a model has and that of its annotated copy.
struct AnnotatedVersion {
  int64_t had = 0, has = 0;
};
/// Writes the profiled model with time, share, layout and implementation in its nodes' metadata_props ("relayout.time_us" …), which viewers
/// of graphs show; what a step absorbed says by which node. Nodes have metadata from IR version 10 on: an older model is raised to it.
/// Error{unsupported} below version 4, where that would change what the model's initializers are.
AnnotatedVersion annotate(const std::filesystem::path& model, const Profile& profile, const std::filesystem::path& output,
                          const LoadOptions& load = {});

}  // namespace relayout
