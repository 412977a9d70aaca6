#include "verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "verify/compare.h"

namespace relayout {
namespace {

/// Above this share of elements at the smallest and largest value an output shows nothing of what lies before.
constexpr double kSaturated = 0.99;

}  // namespace

void ReferenceOutput::add(const Datum& datum) {
  const std::vector<Tensor> tensors = leaves(datum);
  if (samples_++ == 0 && !tensors.empty()) {
    type_ = tensors.front().type();
    dims_ = tensors.front().dims();
  }
  for (const Tensor& tensor : tensors) elements_ += tensor ? tensor.element_count() : 0;
  yardstick_.add(datum);
  const double share = saturated_share(datum);
  least_saturated_share_ = std::min(least_saturated_share_, share);
  saturated_ += share > kSaturated ? 1 : 0;

  const std::vector<uint64_t> slices = slice_hashes(datum);
  if (first_slices_.empty()) {
    first_slices_ = slices;
    return;
  }
  // Batches of different size: as many slices as both have.
  const std::size_t common = std::min(slices.size(), first_slices_.size());
  compared_ = compared_ || common > 0;
  independent_ = independent_ && std::equal(slices.begin(), slices.begin() + static_cast<std::ptrdiff_t>(common), first_slices_.begin());
}

std::optional<std::string> ReferenceOutput::inconclusive(bool varied) const {
  if (elements_ == 0) return "0 elements: other dims would show more";
  if (!is_measured(type_)) return std::nullopt;
  if (yardstick_.count() == 0) return "no finite value";
  if (yardstick_.is_constant() && yardstick_.count() > 1) return "constant: every element is " + exact_number(yardstick_.mean());
  if (varied && compared_ && independent_) return "same bytes for every sample: it does not depend on the inputs";
  if (may_saturate_ && saturated_ == samples_) {
    return "saturated: " + std::to_string(static_cast<int>(std::floor(100 * least_saturated_share_))) +
           " % of its elements lie at its smallest or largest value";
  }
  return std::nullopt;
}

void sum_up(OutputComparison& output, const ReferenceOutput& reference, bool varied) {
  output.type = reference.type();
  output.dims = reference.dims();
  bool different = output.outcome == Outcome::different;
  if (output.outcome == Outcome::inconclusive) {  // more samples may have settled that
    output.outcome = Outcome::same;
    output.reason.clear();
  }
  const SampleMetrics* worst = nullptr;
  for (const SampleMetrics& metrics : output.samples) {
    if (metrics.outcome == Outcome::different && !different) {
      different = true;
      output.reason = metrics.reason + " (sample " + std::to_string(metrics.sample) + ")";
    }
    if (worst == nullptr || metrics.ratio > worst->ratio || (metrics.ratio == worst->ratio && metrics.floor_max > worst->floor_max)) {
      worst = &metrics;
    }
    output.rms_error = std::max(output.rms_error, metrics.rms_error);
  }
  if (worst != nullptr) {
    output.max_error = worst->max_error;
    output.floor = worst->floor_max;
    output.bound = worst->bound_max;
    output.least_bound = worst->least_bound;
    output.ratio = worst->ratio;
  }
  if (different) {
    output.outcome = Outcome::different;
    return;
  }
  if (!output.samples.empty()) output.hint.clear();
  if (const auto why = reference.inconclusive(varied)) {
    output.outcome = Outcome::inconclusive;
    output.reason = *why;
  }
}

}  // namespace relayout
