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

/// The other model in one mode: run over the reference's samples, its outputs measured and held against the floors.
class Candidate {
 public:
  Candidate(const Pair& pair, const Reference& reference, Floors& floors, Mode mode);

  /// Runs those of the first `count` samples that have not run. Stops where the model refuses its inputs.
  void run(std::size_t count);
  /// Gives figures that lie barely above their bound firmer floors, and explains exact outputs that differ by a choice between nearly
  /// equal numbers. No Session may be open.
  void settle();

  /// Whether all outputs agree, with finite elements alone: then one mode tells of both, where the files are proved to compute the same.
  [[nodiscard]] bool agrees_wholly() const;
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

  /// Figures of an output by sample; empty where the candidate has no output of that name.
  [[nodiscard]] std::vector<SampleMetrics>& figures(std::size_t output) { return outputs_[output].figures; }
  [[nodiscard]] std::optional<std::size_t> place_of(std::size_t output) const { return outputs_[output].place; }
  /// The first sample, by its place in the reference, in which an output differs.
  [[nodiscard]] std::optional<std::size_t> first_different() const;
  /// Message of the model that refused a sample which the original takes; empty when it took all.
  [[nodiscard]] const std::string& rejection() const noexcept { return rejection_; }
  /// Of an output that differs: what would make it agree, or where it differs.
  [[nodiscard]] const std::string& hint(std::size_t output) const { return outputs_[output].hint; }
  /// Of an output whose values contradict what the file declares: both; empty where they do not.
  [[nodiscard]] const std::string& contradiction(std::size_t output) const { return outputs_[output].contradiction; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  struct Output {
    std::optional<std::size_t> place;    ///< among b's
    std::vector<SampleMetrics> figures;  ///< by sample
    std::string hint, contradiction;
  };
  [[nodiscard]] SampleMetrics metrics_of(std::size_t output, std::size_t sample, const Datum& reference, const Datum& candidate) const;
  void compare(std::size_t output, std::size_t sample, const Datum& candidate);
  void explain_flipped(std::size_t output);
  [[nodiscard]] bool is_beyond_few_floors() const;
  /// Holds the figures against the floors as they are now.
  void decide_again();
  /// Where the files are proved to compute the same, and the candidate in double precision agrees, a figure near its bound is the
  /// candidate's own rounding: its sums may be taken in another order than the original's.
  void acquit_own_rounding();
  [[nodiscard]] bool is_near_bound(std::size_t output, const SampleMetrics& metrics) const;
  void check_declared(std::size_t output, const Datum& reference, const Datum& candidate);
  void look_for_renames(const Outputs& outputs);

  const Pair* pair_;
  const Reference* reference_;
  Floors* floors_;
  Mode mode_;
  std::vector<Output> outputs_;  ///< by output of a
  Flipped flipped_;
  std::string rejection_;
  std::size_t next_ = 0;  ///< sample to run
  double seconds_ = 0;
};

}  // namespace relayout
