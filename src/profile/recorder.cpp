// Records wall and processor time of every run, and begin and end of the steps of the first runs for `--trace`; memory grows by two numbers
// per run.
#include "profile/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/positions.h"
#include "relayout/execute.h"
#include "relayout/profile.h"

namespace relayout {

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
