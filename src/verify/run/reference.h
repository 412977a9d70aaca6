#pragma once

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"
#include "verify/run/spill.h"

namespace relayout {

class Reference;

namespace thresholds {

/// Number of samples if something is unexplained; and if the proof is complete, except perhaps for constants changed by rounding.
inline constexpr int kSamples = 4, kSamplesOfProved = 1;
/// Most samples that are run so that all numbers at which a model decides are among the inputs.
inline constexpr int kMostSamples = 12;
/// Samples over which nodes are compared one by one: one of usual values, one of far-reaching values. Others are not run if the proof is
/// complete except for constants that nearly agree.
inline constexpr int kLayerSamples = 2;
/// Constants that differ by no more than this, relatively, nearly agree: fewer samples are run.
inline constexpr double kNearConstant = 1e-4;

}  // namespace thresholds

/// Number of samples to begin with: without --samples, all files of a folder, if one is given. Error{usage} for more than these.
[[nodiscard]] int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result);

/// Number of samples for optimized execution: if all have the same sizes, the first suffices, as it shows the plan.
[[nodiscard]] std::size_t samples_of_optimized(const Reference& reference);

/// How far from 0 runs of the original drive the values that b holds in a narrower type under the same names.
class NarrowReach {
 public:
  /// Of values that b holds in `pair.grain`; none where b computes in no narrower type.
  explicit NarrowReach(const Pair& pair);

  [[nodiscard]] bool is_watching() const noexcept { return !held_.empty(); }
  void note(const Node& node, const std::vector<Datum>& outputs);
  /// Forgets the runs so far.
  void reset();
  /// The value that the narrower type holds least, if it does not hold all: "'conv.y' reaches 1.0e+05"; empty: it does.
  [[nodiscard]] std::string beyond() const;

 private:
  double limit_ = 0;  ///< from here on, numbers are infinite in the narrower type
  std::unordered_set<std::string> held_;
  double farthest_ = 0;
  std::string name_;
};

/// One set of inputs that the original could run.
struct Sample {
  int number = 0;
  double deviation = 0;  ///< standard deviation of its floating-point inputs; 0: the usual kinds of values
  bool decides = false;  ///< see SampleKind
  FreeDims::Assignment assignment;
  int64_t macs = 0;
};

/// The original's outputs over the samples that it ran, stored in a temporary file, and facts about them.
class ReferenceOutputs {
 public:
  explicit ReferenceOutputs(const Side& original);

  /// Adds the outputs of the next sample.
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

/// Finds sizes for the free dims of each sample by trial: the attempt that the first runnable sample takes is used for all later ones.
/// Sizes of odd samples that the model refuses are replaced by others, at last by those of even samples.
class SizeSearch {
 public:
  /// Whether the model runs with these sizes.
  using Trial = std::function<bool(const FreeDims::Assignment& sizes)>;

  /// `samples`: number of different sizes, see FreeDims::Place.
  explicit SizeSearch(int samples) : samples_(samples) {}
  /// The sizes that were tried last for a sample with these dims: sizes that the model accepts, if any were found.
  [[nodiscard]] FreeDims::Assignment find(const FreeDims& dims, int sample, const Trial& runs);

 private:
  int samples_;
  int attempt_ = 0;
  bool has_found_ = false;
  bool takes_uneven_ = true;  ///< spatial sizes that halve unevenly; false once they were refused
  FreeDims::Odd odd_ = FreeDims::Odd::own;
};

/// The original, run as written over samples: everything is measured against it.
class Reference {
 public:
  Reference(const Pair& pair, const InputMaker& inputs);

  /// Runs `count` further samples. The very first one finds sizes that the model accepts. It runs twice if nodes draw random numbers; for
  /// other models, a candidate that agrees, over a healthy floor, already shows that runs are repeatable.
  void run(int count, double deviation = 0);
  /// Runs the first sample a second time, unless that was done.
  void repeat();

  [[nodiscard]] const std::vector<Sample>& samples() const noexcept { return samples_; }
  /// Valid until the inputs of another sample are requested: only the latest are kept.
  [[nodiscard]] const Inputs& inputs_of(std::size_t sample) const;
  [[nodiscard]] const InputMaker& inputs() const noexcept { return *inputs_; }
  [[nodiscard]] const ReferenceOutputs& outputs() const noexcept { return outputs_; }

  /// The sizes that were tried, one entry per sample, including those that the model refused.
  [[nodiscard]] const std::vector<SampleInputs>& tried() const noexcept { return tried_; }
  /// Name of an output that differed between the two runs of the first sample; empty: none.
  [[nodiscard]] const std::string& unrepeatable() const noexcept { return unrepeatable_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  void run_next(Session& session, double deviation);
  /// Runs a sample whose usual numbers leave the range of the narrower model with smaller ones, if that helps; returns what they reach.
  [[nodiscard]] std::string keep_within_reach(Session& session, const FreeDims::Assignment& sizes, SampleKind& kind, Session::Run& run);
  /// The sizes tried last for the next sample; `run` tells whether the model accepted them.
  [[nodiscard]] FreeDims::Assignment try_next(Session& session, SizeSearch& search, SampleKind kind, Session::Run& run);
  /// As above. Where the model decides by numbers of its inputs, a refused sample may take another way through it: that has sizes of its
  /// own, or needs these numbers.
  [[nodiscard]] FreeDims::Assignment try_ways(Session& session, SampleKind& kind, Session::Run& run);
  /// Runs the first sample again and notes the first output that differs.
  void compare_again(Session& session, const Outputs& first);

  const Pair* pair_;
  const InputMaker* inputs_;
  bool decides_ = false;  ///< a sample without numbers at which the model decides was refused
  bool waits_to_repeat_;  ///< the first sample has not run a second time
  SizeSearch sizes_;
  ReferenceOutputs outputs_;
  std::vector<Sample> samples_;
  std::vector<SampleInputs> tried_;
  mutable Inputs made_;
  mutable std::optional<std::size_t> made_for_;  ///< the sample of `made_`
  NarrowReach reach_;
  std::string unrepeatable_;
  double seconds_ = 0;
};

/// Reports that the reference ran no sample: the meaning depends on the source of the inputs.
[[nodiscard]] VerifyFindings find_refusal(const Pair& pair, const Reference& reference);

}  // namespace relayout
