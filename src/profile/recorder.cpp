// Records wall and processor time of every run, and the times of the steps of an even selection of runs, in bounded memory.
#include "profile/recorder.h"

#include "base/positions.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

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

Recorder::Recorder(std::size_t steps, int traced) : kept_(steps), most_traced_(as_size(std::max(traced, 0))) {}

void Recorder::add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times) {
  if (traced_.size() < most_traced_) trace(begin, end, times);
  kept_.add(end - begin, times);
  walls_.push_back(static_cast<double>(end - begin));
  wall_total_ += walls_.back();
  processors_.push_back(static_cast<double>(processor));
  processor_total_ += processors_.back();
}

void Recorder::trace(int64_t begin, int64_t end, const StepTimes& times) {
  if (traced_.empty()) origin_ = begin;
  TracedRun& run = traced_.emplace_back(TracedRun{runs(), begin - origin_, end - origin_, {}, {}});
  for (const int64_t time : times.begins) run.begins.push_back(time - origin_);
  for (const int64_t time : times.ends) run.ends.push_back(time - origin_);
}

}  // namespace relayout
