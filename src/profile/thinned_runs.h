#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relayout/execute.h"

namespace relayout {

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

}  // namespace relayout
