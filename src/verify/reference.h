#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/reference_outputs.h"
#include "verify/session.h"
#include "verify/size_search.h"

namespace relayout {

/// One set of inputs that the original could run.
struct Sample {
  int number = 0;
  double deviation = 0;  ///< standard deviation of its floating-point inputs; 0: the usual kinds of values
  FreeDims::Assignment assignment;
  int64_t macs = 0;
};

/// The original run as written over samples: everything is measured against it.
class Reference {
 public:
  Reference(const Pair& pair, const InputMaker& inputs);

  /// Runs `count` further samples. The first sample of all finds sizes that the model takes, and is run twice where nodes draw random
  /// numbers: elsewhere a candidate that agrees, over a healthy floor, shows that runs do.
  void run(int count, double deviation = 0);
  /// Runs the first sample the second time, where that has not been done.
  void repeat();

  [[nodiscard]] const std::vector<Sample>& samples() const noexcept { return samples_; }
  /// Valid until those of another sample are asked for: the last ones that were made are kept.
  [[nodiscard]] const Inputs& inputs_of(std::size_t sample) const;
  [[nodiscard]] const InputMaker& inputs() const noexcept { return *inputs_; }
  [[nodiscard]] const ReferenceOutputs& outputs() const noexcept { return outputs_; }

  /// The sizes that were tried, one entry a sample, those included that the model refused.
  [[nodiscard]] const std::vector<SampleInputs>& tried() const noexcept { return tried_; }
  /// Name of an output that differed between the two runs of the first sample; empty when none did.
  [[nodiscard]] const std::string& unrepeatable() const noexcept { return unrepeatable_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  void run_next(Session& session, double deviation);
  /// Notes the first output that another run of the first sample makes otherwise.
  void compare_again(Session& session, const Outputs& first);

  const Pair* pair_;
  const InputMaker* inputs_;
  bool waits_to_repeat_;  ///< the second run of the first sample
  SizeSearch sizes_;
  ReferenceOutputs outputs_;
  std::vector<Sample> samples_;
  std::vector<SampleInputs> tried_;
  mutable Inputs made_;
  mutable std::optional<std::size_t> made_for_;  ///< the sample of `made_`
  std::string unrepeatable_;
  double seconds_ = 0;
};

}  // namespace relayout
