// The latency of a profile: median with interval, percentiles (90, 95, 99), least, processor time, and when the machine was busy (threads
// got less than 90 % of the processors that they need).
#include "profile/latency.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/statistics.h"
#include "profile/recorder.h"
#include "relayout/profile.h"

namespace relayout {

void fill_latency(Latency& latency, const Recorder& recorder) {
  std::vector<double> us = recorder.walls();
  for (double& time : us) time /= kNanosecondsPerMicrosecond;
  std::ranges::sort(us);
  latency.least_us = us.front();
  latency.p90_us = quantile(us, 0.90);
  latency.p95_us = quantile(us, 0.95);
  latency.p99_us = quantile(us, 0.99);
  latency.us = estimate(std::move(us));
  latency.runs = recorder.runs();
  std::vector<double> processor_us = recorder.processors();
  for (double& time : processor_us) time /= kNanosecondsPerMicrosecond;
  latency.processor_us = estimate(std::move(processor_us));
  latency.cpu_per_wall = recorder.wall_total() > 0 ? recorder.processor_total() / recorder.wall_total() : 0;
}

double expected_cpus(const std::vector<ProfileRow>& rows) {
  double out = 0;
  for (const ProfileRow& row : rows) out += row.share * row.threads;
  return out;
}

bool is_busy(const Latency& latency) noexcept {
  constexpr double kBusy = 0.9;  // of the expected processor time of the threads
  return latency.cpu_per_wall < kBusy * latency.expected_cpus;
}

}  // namespace relayout
