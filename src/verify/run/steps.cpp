// Counts the runs of both models and their processor time, by what they are for.
#include "verify/run/steps.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/times.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/run/session.h"

namespace relayout {

Steps::Steps(std::function<void(std::string_view what, int64_t done, int64_t total)> report)
    : report_(std::move(report)), stages_{{"files", 0, 0, 0}}, since_(processor_nanoseconds()) {}

void Steps::next(std::string_view what) {
  total_ = std::max(total_, done_ + 1);
  if (report_) report_(what, done_, total_);
  ++done_;
  begin(what);
}

void Steps::begin(std::string_view what) {
  end();
  const auto found = std::ranges::find(stages_, what, &VerifyStage::what);
  current_ = as_size(found - stages_.begin());
  if (found == stages_.end()) stages_.push_back({std::string(what), 0, 0, 0});
}

void Steps::end() {
  constexpr double kNanoseconds = 1e-9;
  const int64_t now = processor_nanoseconds();
  stages_[current_].seconds += static_cast<double>(now - since_) * kNanoseconds;
  since_ = now;
}

OpenSession Steps::counting(OpenSession open, const Side& a) {
  return [this, open = std::move(open), &a](const Side& side, ExecuteOptions options) {
    auto session = open(side, std::move(options));
    session->call_before_runs([this, is_a = &side == &a] { ++(is_a ? stages_[current_].runs_a : stages_[current_].runs_b); });
    return session;
  };
}

std::vector<VerifyStage> Steps::take() {
  end();
  return std::move(stages_);
}

}  // namespace relayout
