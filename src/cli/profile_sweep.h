#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/input_options.h"
#include "cli/report.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout::cli {

struct SweepSetting {
  int threads = 0;
  std::map<std::string, int64_t> dims;
};

/// All combinations of --threads and --dim; the last --dim varies fastest. Error{usage} for words that are no sizes.
[[nodiscard]] std::vector<SweepSetting> sweep_settings(const std::vector<std::string>& threads, const Assignments& dims);

/// Several profiles of one model, a line each.
[[nodiscard]] std::string sweep_text(const std::vector<Profile>& profiles, const ReportStyle& style);
[[nodiscard]] Json sweep_json(const std::vector<Profile>& profiles);

}  // namespace relayout::cli
