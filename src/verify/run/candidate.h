#pragma once

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/spill.h"

namespace relayout {

/// Values of an exact type that differ from the reference's, kept until settle() looks for choices between nearly equal numbers.
class Flipped {
 public:
  using BySample = std::map<std::size_t, Spill::Stored>;
  explicit Flipped(std::size_t outputs) : outputs_(outputs) {}
  void keep_if_flipped(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate);
  /// Removes and returns the values of an output.
  [[nodiscard]] BySample take(std::size_t output) { return std::exchange(outputs_[output], {}); }
  [[nodiscard]] Tensor read(const Spill::Stored& stored) const { return spill_.read(stored).tensor; }

 private:
  std::vector<BySample> outputs_;
  Spill spill_;
};

/// One output of the candidate, compared with the original's.
struct CandidateOutput {
  std::optional<std::size_t> place;    ///< index among b's; nullopt: b has no output of that name
  std::vector<SampleMetrics> figures;  ///< by sample
  std::string hint;                    ///< of a differing output: a change that would make it agree, or where it differs
  std::string contradiction;           ///< declared and actual type, where the values contradict the file's declaration
};

/// The candidate in one mode: runs over the reference's samples, measures its outputs and compares them with the floors.
class Candidate {
 public:
  Candidate(const Pair& pair, const Reference& reference, const Floors& floors, Mode mode);

  /// Runs the first `count` samples, except those that already ran. Stops where the model refuses its inputs.
  void run(std::size_t count);

  /// Whether all outputs agree and have only finite elements: one mode then answers for both, if the files are proved to compute the same.
  [[nodiscard]] bool agrees_wholly() const;
  /// Whether it takes all samples, and its outputs agree and are as declared.
  [[nodiscard]] bool agrees() const;
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

  /// One for each output of the original.
  [[nodiscard]] std::vector<CandidateOutput>& outputs() noexcept { return outputs_; }
  [[nodiscard]] const std::vector<CandidateOutput>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] Flipped& flipped() noexcept { return flipped_; }
  /// Samples that ran.
  [[nodiscard]] std::size_t samples() const noexcept { return samples_; }
  /// The first sample, by its index in the reference, in which an output differs.
  [[nodiscard]] std::optional<std::size_t> first_different() const;
  /// Error message for a sample that this model refuses and the original accepts; empty if it accepted all.
  [[nodiscard]] const std::string& rejection() const noexcept { return rejection_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  [[nodiscard]] SampleMetrics metrics_of(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) const;
  void compare(std::size_t output, std::size_t sample, const Datum& candidate);
  void check_declared(std::size_t output, const Datum& reference, const Datum& candidate);
  void look_for_renames(const Outputs& outputs);

  const Pair* pair_;
  const Reference* reference_;
  const Floors* floors_;
  Mode mode_;
  std::vector<CandidateOutput> outputs_;
  Flipped flipped_;
  std::string rejection_;
  std::size_t samples_ = 0;
  double seconds_ = 0;
};

/// Settles figures that the first run leaves in doubt. Figures slightly above their bound get firmer floors; exact outputs that differ by a
/// choice between nearly equal numbers are explained. No Session may be open.
void settle(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate);

}  // namespace relayout
