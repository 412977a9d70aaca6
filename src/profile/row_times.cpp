// The time of each row of a profile: the lower quartile of its runs, scaled so that all rows add up to the latency's median; "(executor)"
// for the time outside of all steps.
#include "profile/row_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/statistics.h"
#include "profile/thinned_runs.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// The time of one row in each kept run, in microseconds.
std::vector<double> times_of(const ThinnedRuns& kept, const RowSteps& row) {
  std::vector<double> out;
  for (std::size_t run = 0; run < kept.size(); ++run) {
    int64_t sum = 0;
    for (const std::size_t step : row.steps) sum += kept.step(run, step);
    for (const std::size_t number : row.inner) sum += kept.inner(run, number);
    for (const std::size_t number : row.within) sum -= kept.inner(run, number);
    out.push_back(static_cast<double>(sum) / kNanosecondsPerMicrosecond);
  }
  return out;
}

/// The time outside of all steps in each kept run, in microseconds: binding memory, handing over results, between steps.
std::vector<double> times_outside(const ThinnedRuns& kept) {
  std::vector<double> out;
  for (std::size_t run = 0; run < kept.size(); ++run) {
    int64_t rest = kept.wall(run);
    for (std::size_t step = 0; step < kept.steps(); ++step) rest -= kept.step(run, step);
    out.push_back(static_cast<double>(rest) / kNanosecondsPerMicrosecond);
  }
  return out;
}

void measure(ProfileRow& row, std::vector<double> times) {
  constexpr double kQuartile = 0.25;
  std::ranges::sort(times);
  row.quartile_us = quantile(times, kQuartile);
  row.measured_us = estimate(std::move(times));
}

}  // namespace

void measure_row(ProfileRow& row, const RowSteps& steps, const ThinnedRuns& kept) {
  measure(row, times_of(kept, steps));
}

ProfileRow executor_row(const ThinnedRuns& kept) {
  ProfileRow out;
  out.node = "(executor)";
  measure(out, times_outside(kept));
  return out;
}

/// Scales each row's lower quartile so that all rows add up to the median of the whole. On a busy machine a run is interrupted somewhere,
/// often repeatedly at the same step. The median of that step would include the interruption; its quartile hardly does.
void scale_rows(Profile& profile) {
  const Latency& latency = profile.latency;
  scale_rows(profile, (profile.clock == TimeKind::wall ? latency.us : latency.processor_us).median);
}

void scale_rows(Profile& profile, double total_us) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.quartile_us;
  profile.total_us = total_us;
  profile.scale = sum > 0 ? total_us / sum : 1;
  for (ProfileRow& row : profile.rows) {
    row.us = row.quartile_us * profile.scale;
    row.share = total_us > 0 ? row.us / total_us : 0;
  }
}

}  // namespace relayout
