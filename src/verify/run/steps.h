#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/verify.h"
#include "verify/run/session.h"

namespace relayout {

/// Counts the runs of a comparison by what they are for, and reports them as progress.
class Steps {
 public:
  explicit Steps(std::function<void(std::string_view what, int64_t done, int64_t total)> report);
  /// Announces this number of further runs.
  void expect(int64_t runs) { total_ += runs; }
  /// Begins a run for this purpose; what is done until the next one counts as part of it.
  void next(std::string_view what);
  /// Plans what further runs may cost, by what those so far have cost.
  void plan(const VerifyOptions& options);
  /// Whether runs that may be left out fit into what is left of the plan; else they count as left out.
  [[nodiscard]] bool affords(std::string_view what, int64_t watched_runs);
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Sessions whose runs count as those of `a`, or of the other model.
  [[nodiscard]] OpenSession counting(OpenSession open, const Side& a);
  /// Ends the last step.
  [[nodiscard]] std::vector<VerifyStage> take();

 private:
  void begin(std::string_view what);
  void end();

  std::function<void(std::string_view, int64_t, int64_t)> report_;
  int64_t done_ = 0, total_ = 0;
  std::vector<VerifyStage> stages_;
  std::size_t current_ = 0;
  int64_t since_ = 0;                                                  ///< processor time at which the current step began
  int64_t spent_ = 0, allowed_ = std::numeric_limits<int64_t>::max();  ///< in plain runs of either model
  std::vector<std::string> left_out_;
};

}  // namespace relayout
