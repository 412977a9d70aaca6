#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/judge.h"
#include "verify/pair.h"
#include "verify/session.h"
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

/// Sizes for the free dims of each sample, found by trial: the attempt that the first runnable sample takes counts for all that follow.
class SizeSearch {
 public:
  /// Whether the model runs with these sizes.
  using Trial = std::function<bool(const FreeDims::Assignment& sizes)>;

  /// `samples`: how many sizes are to be told apart, see FreeDims::Place.
  explicit SizeSearch(int samples) : samples_(samples) {}
  /// The sizes that were tried last for a sample with these dims: the ones that the model takes, if there are any.
  [[nodiscard]] FreeDims::Assignment find(const FreeDims& dims, int sample, const Trial& runs);

 private:
  int samples_;
  int attempt_ = 0;
  bool has_found_ = false;
  bool takes_uneven_ = true;  ///< spatial sizes that halve unevenly; false once they were refused
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
