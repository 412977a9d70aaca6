#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "profile/thinned_runs.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

/// Times of many runs: every run's latency, and the steps of some of them. Times are in nanoseconds.
class Recorder {
 public:
  /// `steps`: of each run. The steps of the first `traced` runs are kept with their places in time too.
  Recorder(std::size_t steps, int traced);

  /// One run: the steady clock around it, processor time that it took, and its steps.
  void add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times);

  [[nodiscard]] int64_t runs() const noexcept { return static_cast<int64_t>(walls_.size()); }
  /// Of each run.
  [[nodiscard]] const std::vector<double>& walls() const noexcept { return walls_; }
  [[nodiscard]] double wall_total() const noexcept { return wall_total_; }
  /// The processor time of each.
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
  int64_t origin_ = 0;  ///< when the first run began
};

}  // namespace relayout
