// Keeps the times of many runs in bounded memory: the latency of each, and the steps of an even selection.
#include "profile/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// 32 MiB of durations, but at least 64 runs (an interval of ±12 % of ranks), and no more than serve an interval.
constexpr std::size_t kMostDurations = std::size_t{1} << 22, kLeastRuns = 64, kMostRuns = 512;

}  // namespace

Recorder::Recorder(std::size_t steps, int traced)
    : steps_(steps),
      width_(steps),
      most_kept_(std::clamp(kMostDurations / std::max<std::size_t>(steps, 1), kLeastRuns, kMostRuns)),
      most_traced_(as_size(std::max(traced, 0))) {}

void Recorder::add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times) {
  if (walls_.empty()) origin_ = begin;
  const std::size_t number = walls_.size();
  walls_.push_back(static_cast<double>(end - begin));
  wall_total_ += static_cast<double>(end - begin);
  processors_.push_back(static_cast<double>(processor));
  processor_total_ += static_cast<double>(processor);
  if (traced_.size() < most_traced_) {
    TracedRun& run = traced_.emplace_back(TracedRun{static_cast<int64_t>(number), begin - origin_, end - origin_, {}, {}});
    for (const int64_t time : times.begins) run.begins.push_back(time - origin_);
    for (const int64_t time : times.ends) run.ends.push_back(time - origin_);
  }
  if (number % stride_ != 0) return;
  if (kept_ == most_kept_) thin_out();
  if (number % stride_ != 0) return;
  latest_inner_ = times.inner;
  widen(steps_ + times.inner.size());
  for (std::size_t i = 0; i < steps_; ++i) durations_.push_back(times.ends[i] - times.begins[i]);
  for (const InnerTime& time : times.inner) durations_.push_back(time.nanoseconds);
  durations_.resize((kept_ + 1) * width_);
  kept_walls_.push_back(end - begin);
  ++kept_;
}

/// Makes room for inner steps that no run before has met.
void Recorder::widen(std::size_t width) {
  if (width <= width_) return;
  std::vector<int64_t> wider(kept_ * width);
  for (std::size_t run = 0; run < kept_; ++run) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, wider.begin() + static_cast<std::ptrdiff_t>(run * width));
  }
  durations_ = std::move(wider);
  width_ = width;
}

/// Every second of the kept runs goes.
void Recorder::thin_out() {
  std::size_t to = 0;
  for (std::size_t run = 0; run < kept_; run += 2, ++to) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, durations_.begin() + static_cast<std::ptrdiff_t>(to * width_));
    kept_walls_[to] = kept_walls_[run];
  }
  kept_ = to;
  durations_.resize(kept_ * width_);
  kept_walls_.resize(kept_);
  stride_ *= 2;
}

}  // namespace relayout
