#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/datum.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/yardstick.h"

namespace relayout {

/// Facts about one output of the reference over all samples that it ran.
class ReferenceOutput {
 public:
  /// Facts from the file.
  struct Declared {
    bool may_saturate = false;  ///< false for outputs that have two values by nature
    bool is_empty = false;      ///< never has elements
    bool is_fixed = false;      ///< the model has no inputs: one sample shows every value
  };
  ReferenceOutput() = default;
  ReferenceOutput(std::string name, Declared declared) : name_(std::move(name)), declared_(declared) {}

  /// Adds the values of the next sample.
  void add(const Datum& datum);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DataType type() const noexcept { return type_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }
  /// Whether any element was finite and of a type that is compared by distance.
  [[nodiscard]] bool holds_values() const noexcept { return elements_ > 0 && yardstick_.count() > 0; }
  /// Reason why equal values would prove nothing; nullopt: they prove something. `varied`: inputs differed between samples.
  [[nodiscard]] std::optional<std::string> inconclusive(bool varied) const;

 private:
  std::string name_;
  Declared declared_;
  Yardstick yardstick_;
  DataType type_ = DataType::undefined;
  Dims dims_;
  int64_t elements_ = 0, samples_ = 0, saturated_ = 0;
  double least_saturated_share_ = 1;
  std::vector<uint64_t> first_slices_;
  bool compared_ = false;    ///< two samples had slices to compare
  bool independent_ = true;  ///< all slices compared so far agree
};

/// Sums up the samples of an output: outcome, reason, and the figures of the sample that says most against it. If the files are proved to
/// compute the same, an output that shows nothing is also the same.
void sum_up(OutputComparison& output, const ReferenceOutput& reference, bool varied, bool proved);

/// Sets the verdict from interface and outputs: "different" before "inconclusive" before "same". `name_b`: the candidate, in reasons.
void conclude(const std::string& name_b, VerifyResult& result);

/// Whether the verdict so far, or that of an output, is "different".
[[nodiscard]] bool is_different(const VerifyResult& result);
/// Makes the verdict inconclusive, for this reason.
void doubt(VerifyResult& result, std::string reason);
/// Advice for an effect that no sample shows.
inline constexpr const char* kMoreSamples = " (--samples N makes more, --input gives your own)";
/// The reason for doubt about a difference whose effect no sample shows.
[[nodiscard]] std::string unreached(const Unexplained& entry);

}  // namespace relayout
