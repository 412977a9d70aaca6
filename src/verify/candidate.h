#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/floors.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/spill.h"

namespace relayout {

/// Values of an exact type that differ from the reference's, put aside until a choice between nearly equal numbers is looked for.
class Flipped {
 public:
  using BySample = std::map<std::size_t, Spill::Stored>;
  explicit Flipped(std::size_t outputs) : outputs_(outputs) {}
  void keep_if_flipped(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate);
  /// Those of an output, which are forgotten.
  [[nodiscard]] BySample take(std::size_t output) { return std::exchange(outputs_[output], {}); }
  [[nodiscard]] Tensor read(const Spill::Stored& stored) const { return spill_.read(stored).tensor; }

 private:
  std::vector<BySample> outputs_;
  Spill spill_;
};

/// One output of the other model, held against the original's.
struct CandidateOutput {
  std::optional<std::size_t> place;    ///< among b's; nothing where b has none of that name
  std::vector<SampleMetrics> figures;  ///< by sample
  std::string hint;                    ///< of one that differs: what would make it agree, or where it differs
  std::string contradiction;           ///< of one whose values contradict what the file declares: both
};

/// The other model in one mode: run over the reference's samples, its outputs measured and held against the floors.
class Candidate {
 public:
  Candidate(const Pair& pair, const Reference& reference, const Floors& floors, Mode mode);

  /// Runs those of the first `count` samples that have not run. Stops where the model refuses its inputs.
  void run(std::size_t count);

  /// Whether all outputs agree, with finite elements alone: then one mode tells of both, where the files are proved to compute the same.
  [[nodiscard]] bool agrees_wholly() const;
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

  /// One for each output of the original.
  [[nodiscard]] std::vector<CandidateOutput>& outputs() noexcept { return outputs_; }
  [[nodiscard]] const std::vector<CandidateOutput>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] Flipped& flipped() noexcept { return flipped_; }
  /// Samples that ran.
  [[nodiscard]] std::size_t samples() const noexcept { return samples_; }
  /// The first sample, by its place in the reference, in which an output differs.
  [[nodiscard]] std::optional<std::size_t> first_different() const;
  /// Message of the model that refused a sample which the original takes; empty when it took all.
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

/// Settles figures of a candidate that its first run leaves in doubt: ones that lie barely above their bound get firmer floors, and exact
/// outputs that differ by a choice between nearly equal numbers are explained. No Session may be open.
void settle(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate);

}  // namespace relayout
