#pragma once

#include <cstddef>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "verify/judge.h"
#include "verify/session.h"
#include "verify/spill.h"
#include "verify/yardstick.h"

namespace relayout {

/// The original's outputs over the samples that it ran, put aside in a temporary file, and the facts about them.
class ReferenceOutputs {
 public:
  explicit ReferenceOutputs(const Side& original);

  /// The outputs of the next sample.
  void add(const Outputs& outputs);
  [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
  [[nodiscard]] const ReferenceOutput& summary(std::size_t output) const { return all_[output].summary; }
  [[nodiscard]] Datum value(std::size_t output, std::size_t sample) const { return spill_.read(all_[output].stored[sample]); }
  [[nodiscard]] const Yardstick& yardstick(std::size_t output, std::size_t sample) const { return all_[output].yardsticks[sample]; }

 private:
  struct Output {
    ReferenceOutput summary;
    std::vector<Spill::Stored> stored;  ///< by sample
    std::vector<Yardstick> yardsticks;  ///< by sample
  };
  std::vector<Output> all_;
  Spill spill_;
};

}  // namespace relayout
