#pragma once

#include <cstddef>
#include <vector>

#include "profile/thinned_runs.h"
#include "relayout/profile.h"

namespace relayout {

/// The steps whose times a row adds up.
struct RowSteps {
  std::vector<std::size_t> steps = {};   ///< indices among the steps that run
  std::vector<std::size_t> inner = {};   ///< inner steps
  std::vector<std::size_t> within = {};  ///< inner steps with their own rows, whose times `steps` include
};

/// Sets the measured times of a row.
void measure_row(ProfileRow& row, const RowSteps& steps, const ThinnedRuns& kept);
/// The row "(executor)": the time outside of all steps.
[[nodiscard]] ProfileRow executor_row(const ThinnedRuns& kept);
/// Scales the rows so that they add up to the latency's median, or to `total_us`.
void scale_rows(Profile& profile);
void scale_rows(Profile& profile, double total_us);

}  // namespace relayout
