// Sums up an output over all samples, the overall verdict, and outputs that prove nothing: constant, saturated, no finite value, no
// elements, same bytes for every sample. The figures of an output are those of the sample that says most against it.
#include "verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/output_signs.h"
#include "verify/rules.h"

namespace relayout {
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
  saturated_ += share > rules::kSaturated ? 1 : 0;

  const std::vector<uint64_t> slices = slice_hashes(datum);
  if (first_slices_.empty()) {
    first_slices_ = slices;
    return;
  }
  // Batches may differ in size: only slices that both have are compared.
  const std::size_t common = std::min(slices.size(), first_slices_.size());
  compared_ = compared_ || common > 0;
  independent_ = independent_ && std::equal(slices.begin(), slices.begin() + static_cast<std::ptrdiff_t>(common), first_slices_.begin());
}

std::optional<std::string> ReferenceOutput::inconclusive(bool varied) const {
  // Of an output that is declared to have no elements, other inputs would not show more.
  if (elements_ == 0)
    return declared_.is_empty ? std::nullopt : std::optional<std::string>("no elements in any sample: nothing was compared");
  if (!is_measured(type_)) return std::nullopt;
  if (yardstick_.count() == 0) return "no finite value";
  if (declared_.is_fixed) return std::nullopt;
  if (yardstick_.is_constant() && yardstick_.count() > 1) return "constant: every element is " + exact_number(yardstick_.mean());
  if (varied && compared_ && independent_) return "same bytes for every sample: it does not depend on the inputs";
  if (declared_.may_saturate && saturated_ == samples_) {
    return "saturated: " + std::to_string(static_cast<int>(std::floor(100 * least_saturated_share_))) +
           " % of its elements are at its smallest or largest value";
  }
  return std::nullopt;
}

namespace {

/// The sample that says most against the output: differing ones first, then well-conditioned ones, then by the largest ratio.
const SampleMetrics* telling_sample(const std::vector<SampleMetrics>& samples) {
  const auto rank = [](const SampleMetrics& metrics) {
    return std::tuple(metrics.outcome == Outcome::different, !metrics.ill_conditioned, metrics.ratio, metrics.floor.max);
  };
  const auto found = std::ranges::max_element(samples, {}, rank);
  return found == samples.end() ? nullptr : &*found;
}

void mark_missing(const std::string& name_b, const InterfaceDifference& difference, VerifyResult& result) {
  if (difference.field != "missing" && difference.field != "renamed") return;
  for (OutputComparison& output : result.outputs) {
    if (output.name != difference.name) continue;
    output.outcome = Outcome::different;
    output.reason =
        difference.field == "missing" ? "missing in " + escape(name_b) : "named " + quote(difference.b) + " in " + escape(name_b);
  }
}

}  // namespace

void sum_up(OutputComparison& output, const ReferenceOutput& reference, bool varied, bool proved) {
  output.type = reference.type();
  output.dims = reference.dims();
  output.rms_error = 0;
  if (output.outcome == Outcome::inconclusive) {  // more samples may have settled it
    output.outcome = Outcome::same;
    output.reason.clear();
  }
  const SampleMetrics* const telling = telling_sample(output.samples);
  if (telling != nullptr) {
    output.telling = as_size(telling - output.samples.data());
    output.max_error = telling->max_error;
    output.floor = telling->floor.max;
    output.bound = telling->bound.max;
    output.least_bound = telling->least_bound;
    output.ratio = telling->ratio;
  }
  for (const SampleMetrics& metrics : output.samples) output.rms_error = std::max(output.rms_error, metrics.rms_error);
  if (telling != nullptr && telling->outcome == Outcome::different) {
    if (output.outcome != Outcome::different) output.reason = telling->reason + " (sample " + std::to_string(telling->sample) + ")";
    output.outcome = Outcome::different;
  }
  if (output.outcome == Outcome::different) return;
  if (!output.samples.empty()) output.hint.clear();
  if (proved) return;
  if (const auto why = reference.inconclusive(varied)) {
    output.outcome = Outcome::inconclusive;
    output.reason = *why;
  }
}

void conclude(const std::string& name_b, VerifyResult& result) {
  for (const InterfaceDifference& difference : result.interface) {
    if (!difference.remark) result.outcome = Outcome::different;
    if (difference.side == "output" && !difference.remark) mark_missing(name_b, difference, result);
  }
  for (OutputComparison& output : result.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) {
      output.outcome = Outcome::inconclusive;
      output.reason = "not compared";
    }
    if (output.outcome == Outcome::different) result.outcome = Outcome::different;
    if (output.outcome == Outcome::inconclusive && result.outcome != Outcome::different) result.outcome = Outcome::inconclusive;
  }
}

bool is_different(const VerifyResult& result) {
  const auto differs = [](const OutputComparison& output) { return output.outcome == Outcome::different; };
  return result.outcome == Outcome::different || std::ranges::any_of(result.outputs, differs);
}

void doubt(VerifyResult& result, std::string reason) {
  result.outcome = Outcome::inconclusive;
  result.reason = std::move(reason);
}

std::string unreached(const Unexplained& entry) {
  return entry.text + ", and no sample reaches that" + kMoreSamples;
}

}  // namespace relayout
