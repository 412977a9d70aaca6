#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/trace.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// The name of the time outside of all steps: of its row, and of its events in a trace.
inline constexpr std::string_view kExecutor = "(executor)";

/// The steps of an even selection of runs, every 2^k-th, in bounded memory. Times are in nanoseconds.
class ThinnedRuns {
 public:
  /// `steps`: number of steps of each run.
  explicit ThinnedRuns(std::size_t steps);

  /// Adds the next run, kept or not: its wall time and its steps.
  void add(int64_t wall, const StepTimes& times);

  [[nodiscard]] std::size_t size() const noexcept { return walls_.size(); }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  [[nodiscard]] int64_t wall(std::size_t run) const { return walls_[run]; }
  [[nodiscard]] int64_t step(std::size_t run, std::size_t step) const { return durations_[run * width_ + step]; }
  /// Time of an inner step; 0 in runs without it.
  [[nodiscard]] int64_t inner(std::size_t run, std::size_t number) const { return durations_[run * width_ + steps_ + number]; }
  /// Inner steps of the latest kept run.
  [[nodiscard]] const std::vector<InnerTime>& latest_inner() const noexcept { return latest_inner_; }

 private:
  void thin_out();
  void widen(std::size_t width);

  std::size_t steps_, width_, most_, stride_ = 1, count_ = 0;  ///< `count_`: runs so far
  std::vector<int64_t> walls_;
  std::vector<int64_t> durations_;  ///< run by run, `width_` entries each: steps, then inner steps
  std::vector<InnerTime> latest_inner_;
};

/// Times of many runs: the latency of every run, and the steps of some of them. Times are in nanoseconds.
class Recorder {
 public:
  /// `steps`: number of steps of each run. For the first `traced` runs, the begin and end of each step are kept too.
  Recorder(std::size_t steps, int traced);

  /// Adds one run: begin and end by the steady clock, its processor time, and its steps.
  void add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times);

  [[nodiscard]] int64_t runs() const noexcept { return static_cast<int64_t>(walls_.size()); }
  /// Wall time of each run.
  [[nodiscard]] const std::vector<double>& walls() const noexcept { return walls_; }
  [[nodiscard]] double wall_total() const noexcept { return wall_total_; }
  /// Processor time of each run.
  [[nodiscard]] const std::vector<double>& processors() const noexcept { return processors_; }
  [[nodiscard]] double processor_total() const noexcept { return processor_total_; }
  [[nodiscard]] const ThinnedRuns& kept() const noexcept { return kept_; }
  [[nodiscard]] std::vector<TracedRun> take_traced() { return std::move(traced_); }

 private:
  void trace(int64_t begin, int64_t end, const StepTimes& times);

  ThinnedRuns kept_;
  std::vector<double> walls_, processors_;
  double processor_total_ = 0, wall_total_ = 0;
  std::size_t most_traced_;
  std::vector<TracedRun> traced_;
  int64_t origin_ = 0;  ///< begin of the first run
};

/// Scales the rows so that they add up to `total_us`.
void scale_rows(Profile& profile, double total_us);

/// Computes latency, rows, sums and traced runs of a profile from the steps of a plan and their times. At least one run was recorded.
void fill_profile(Profile& profile, const PlanInfo& plan, Recorder& recorder);

}  // namespace relayout
