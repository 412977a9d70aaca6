// Selects the runs whose step times are kept (32 MiB, 64 to 512 runs): when the memory is full, every second kept run is dropped and the
// stride between kept runs doubles.
#include "profile/thinned_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "relayout/execute.h"

namespace relayout {
namespace {

/// 32 MiB of durations, but at least 64 runs (an interval of ±12 % of ranks), and at most 512, because an interval needs no more.
constexpr std::size_t kMostDurations = std::size_t{1} << 22, kLeastRuns = 64, kMostRuns = 512;

}  // namespace

ThinnedRuns::ThinnedRuns(std::size_t steps)
    : steps_(steps), width_(steps), most_(std::clamp(kMostDurations / std::max<std::size_t>(steps, 1), kLeastRuns, kMostRuns)) {}

void ThinnedRuns::add(int64_t wall, const StepTimes& times) {
  const std::size_t number = count_++;
  if (number % stride_ == 0 && size() == most_) thin_out();
  if (number % stride_ != 0) return;
  latest_inner_ = times.inner;
  widen(steps_ + times.inner.size());
  for (std::size_t i = 0; i < steps_; ++i) durations_.push_back(times.ends[i] - times.begins[i]);
  for (const InnerTime& time : times.inner) durations_.push_back(time.nanoseconds);
  walls_.push_back(wall);
  durations_.resize(size() * width_);
}

/// Makes room for inner steps that no earlier run has met.
void ThinnedRuns::widen(std::size_t width) {
  if (width <= width_) return;
  std::vector<int64_t> wider(size() * width);
  for (std::size_t run = 0; run < size(); ++run) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, wider.begin() + static_cast<std::ptrdiff_t>(run * width));
  }
  durations_ = std::move(wider);
  width_ = width;
}

/// Drops every second of the kept runs.
void ThinnedRuns::thin_out() {
  std::size_t to = 0;
  for (std::size_t run = 0; run < size(); run += 2, ++to) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, durations_.begin() + static_cast<std::ptrdiff_t>(to * width_));
    walls_[to] = walls_[run];
  }
  walls_.resize(to);
  durations_.resize(to * width_);
  stride_ *= 2;
}

}  // namespace relayout
