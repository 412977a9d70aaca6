#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// Times of many runs in memory that grows with steps, not with runs: every run's latency is counted, and of the steps an even selection of
/// the runs is kept, every 2^k-th.
class Recorder {
 public:
  /// `steps`: of each run. The steps of the first `traced` runs are kept with their places in time too.
  Recorder(std::size_t steps, int traced);

  /// One run: nanoseconds of the steady clock around it, processor time that it took, and its steps.
  void add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times);

  [[nodiscard]] int64_t runs() const noexcept { return static_cast<int64_t>(walls_.size()); }
  /// Nanoseconds of each run.
  [[nodiscard]] const std::vector<double>& walls() const noexcept { return walls_; }
  /// The processor time of each, in nanoseconds.
  [[nodiscard]] const std::vector<double>& processors() const noexcept { return processors_; }
  [[nodiscard]] double processor_total() const noexcept { return processor_total_; }
  [[nodiscard]] double wall_total() const noexcept { return wall_total_; }
  /// Runs whose steps were kept.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  /// Nanoseconds of a step in a kept run.
  [[nodiscard]] int64_t step(std::size_t run, std::size_t step) const { return durations_[run * width_ + step]; }
  /// The same of an inner step, 0 in runs that did not take it.
  [[nodiscard]] int64_t inner(std::size_t run, std::size_t number) const { return durations_[run * width_ + steps_ + number]; }
  /// Inner steps of the latest run.
  [[nodiscard]] const std::vector<InnerTime>& latest_inner() const noexcept { return latest_inner_; }
  /// Nanoseconds of a kept run.
  [[nodiscard]] int64_t wall(std::size_t run) const { return kept_walls_[run]; }
  [[nodiscard]] std::vector<TracedRun> take_traced() { return std::move(traced_); }

 private:
  void thin_out();
  void widen(std::size_t width);

  std::size_t steps_, width_, most_kept_, kept_ = 0, stride_ = 1;
  std::size_t most_traced_;
  std::vector<double> walls_, processors_;
  std::vector<int64_t> durations_;  ///< kept run by kept run: `width_` entries, of the steps and then of inner ones
  std::vector<InnerTime> latest_inner_;
  std::vector<int64_t> kept_walls_;
  std::vector<TracedRun> traced_;
  double processor_total_ = 0, wall_total_ = 0;
  int64_t origin_ = 0;
};

}  // namespace relayout
