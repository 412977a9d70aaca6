#pragma once

#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"

namespace relayout {

/// Lists the outputs of a in the result, without figures.
void list_outputs(const Pair& pair, VerifyResult& result);

/// The runs of both models over the same samples.
class Measurement {
 public:
  /// Runs all. Sets what the pair computes in, and the figures of `measured`.
  Measurement(Pair& pair, VerifyResult& measured);
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  /// Whether the original ran; floors and candidate exist only then.
  [[nodiscard]] bool has_samples() const { return !reference_.samples().empty(); }
  [[nodiscard]] const Reference& reference() const noexcept { return reference_; }
  [[nodiscard]] Floors& floors() noexcept { return *floors_; }
  [[nodiscard]] const Candidate& candidate() const noexcept { return *candidate_; }
  /// What the files' types and the runs show by themselves.
  [[nodiscard]] const VerifyFindings& findings() const noexcept { return findings_; }
  /// Copies the runs' seconds and their number of draws into the result.
  void report(VerifyResult& result) const;

 private:
  void measure(const Pair& pair, VerifyResult& measured);

  VerifyFindings findings_;
  InputMaker inputs_;
  Reference reference_;
  std::optional<Floors> floors_;
  std::unique_ptr<Candidate> candidate_;
};

}  // namespace relayout
