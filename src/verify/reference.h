#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/judge.h"
#include "verify/pair.h"
#include "verify/spill.h"
#include "verify/yardstick.h"

namespace relayout {

/// One set of inputs that the original could run.
struct Sample {
  int number = 0;
  double deviation = 0;  ///< standard deviation of its floating-point inputs; 0: the usual kinds of values
  FreeDims::Assignment assignment;
  int64_t macs = 0;
};

/// The original run as written over samples: its outputs, put aside in a temporary file, and everything that is measured against them.
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
  /// See InputMaker.
  [[nodiscard]] std::set<std::string> plain_integers() const { return inputs_->plain_integers(); }
  [[nodiscard]] std::set<std::string> kept_integers() const { return inputs_->kept_integers(); }
  [[nodiscard]] std::set<std::string> masks() const { return inputs_->masks(); }
  [[nodiscard]] std::size_t output_count() const noexcept { return outputs_.size(); }
  [[nodiscard]] const ReferenceOutput& output(std::size_t i) const { return outputs_[i].summary; }
  [[nodiscard]] Datum value(std::size_t output, std::size_t sample) const { return spill_.read(outputs_[output].stored[sample]); }
  [[nodiscard]] const Yardstick& yardstick(std::size_t output, std::size_t sample) const { return outputs_[output].yardsticks[sample]; }

  /// The sizes that were tried, those included that the model refused.
  [[nodiscard]] const std::vector<SampleInputs>& tried() const noexcept { return tried_; }
  /// Why the model refused the first sample; empty when it did not.
  [[nodiscard]] const std::string& rejection() const noexcept { return rejection_; }
  /// Name of an output that differed between the two runs of the first sample; empty when none did.
  [[nodiscard]] const std::string& unrepeatable() const noexcept { return unrepeatable_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  struct Output {
    ReferenceOutput summary;
    std::vector<Spill::Stored> stored;  ///< by sample
    std::vector<Yardstick> yardsticks;  ///< by sample
  };

  /// Notes the first output that another run of the first sample makes otherwise.
  void compare_again(Session& session, const Outputs& first);

  const Pair* pair_;
  const InputMaker* inputs_;
  bool waits_to_repeat_;  ///< the second run of the first sample
  std::vector<Output> outputs_;
  std::vector<Sample> samples_;
  std::vector<SampleInputs> tried_;
  mutable Inputs made_;
  mutable std::optional<std::size_t> made_for_;  ///< the sample of `made_`
  Spill spill_;
  std::string rejection_, unrepeatable_;
  int next_ = 0, attempt_ = 0;
  bool takes_uneven_ = true;  ///< spatial sizes that halve unevenly; false once they were refused
  double seconds_ = 0;
};

}  // namespace relayout
