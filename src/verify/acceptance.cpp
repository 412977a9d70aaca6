// Decides `--accept`: bounds snr, cosine, error, top1, top5 and match of the losses (output_loss computes them), words of a missed bound,
// differences that no bound excuses (dims, NaN, infinities).
#include "verify/acceptance.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/verify.h"
#include "verify/output_loss.h"

namespace relayout {
namespace {

/// Reason of the first difference that no bound of a loss covers: values that contradict their declaration, other dims, or NaN and
/// infinities on one side alone. Empty: none.
std::string inexcusable(const OutputComparison& output) {
  const auto differs = [](const SampleMetrics& metrics) { return metrics.outcome == Outcome::different; };
  if (output.outcome == Outcome::different && std::ranges::none_of(output.samples, differs)) return output.reason;
  for (const SampleMetrics& metrics : output.samples) {
    const bool apart = metrics.outcome == Outcome::different && metrics.sums.elements == 0;
    const bool lost = metrics.non_finite.unequal() > 0;
    if (apart || lost) return metrics.reason + " (sample " + std::to_string(metrics.sample) + ")";
  }
  return {};
}

/// The first bound that an output misses, as text; empty if it meets all.
std::string missed(const Acceptance& accept, const OutputComparison& output) {
  const Loss& loss = *output.loss;
  // Negated, so that NaN misses its bound.
  const auto is_below = [](double value, double bound) { return !(value >= bound); };
  if (!is_measured(output.type)) {
    if (output.outcome == Outcome::same || (accept.match && !is_below(loss.match, *accept.match))) return {};
    return share_text(loss.match) + " of the elements are equal" +
           (accept.match ? ", --accept match=" + exact_number(*accept.match) : " (--accept match=… takes fewer than all)");
  }
  if (accept.snr && is_below(loss.snr, *accept.snr)) return decibels(loss.snr) + ", --accept snr=" + exact_number(*accept.snr);
  if (accept.cosine && is_below(loss.cosine, *accept.cosine)) {
    return "cosine " + exact_number(loss.cosine) + ", --accept cosine=" + exact_number(*accept.cosine);
  }
  if (accept.error && !(loss.error <= *accept.error)) {
    return "largest error/range " + scientific(loss.error) + ", --accept error=" + exact_number(*accept.error);
  }
  if (accept.top1 && loss.top1 && is_below(*loss.top1, *accept.top1)) {
    return "top-1 " + share_text(*loss.top1) + ", --accept top1=" + exact_number(*accept.top1);
  }
  if (accept.top5 && loss.top5 && is_below(*loss.top5, *accept.top5)) {
    return "top-5 " + share_text(*loss.top5) + ", --accept top5=" + exact_number(*accept.top5);
  }
  return {};
}

/// Reason why a bound is not met because it applies to no output; empty: none.
std::string unanswered(const Acceptance& accept, const VerifyResult& result) {
  const auto none = [&](auto&& shows) { return std::ranges::none_of(result.outputs, shows); };
  if ((accept.top1 || accept.top5) && none([](const OutputComparison& output) { return output.loss && output.loss->top1; })) {
    return "--accept top1, top5: no output looks like rows of scores (rank 2 or 3, five or more in a row)";
  }
  const bool of_numbers = accept.snr || accept.cosine || accept.error;
  if (of_numbers && none([](const OutputComparison& output) { return output.loss && is_measured(output.type); })) {
    return "--accept: no output of a floating-point type was compared";
  }
  return {};
}

/// The first output that misses a bound, and its reason; preceded by b's work in coarser numbers, if any.
std::string missed_in(const VerifyResult& result) {
  const auto output = std::ranges::find(result.outputs, Outcome::different, &OutputComparison::outcome);
  return (result.lossy.empty() ? "" : result.lossy + ": ") + "output " + quote(output->name) + ": " + output->reason;
}

void judge(const Acceptance& accept, OutputComparison& output) {
  if (!output.loss || output.outcome == Outcome::inconclusive) return;
  std::string why = inexcusable(output);
  if (why.empty()) why = missed(accept, output);
  const bool differs = output.outcome == Outcome::different;
  output.outcome = !why.empty() ? Outcome::different : differs ? Outcome::accepted : Outcome::same;
  output.reason = why;
  if (!why.empty()) return;
  for (SampleMetrics& metrics : output.samples) {
    if (metrics.outcome == Outcome::different) metrics.outcome = Outcome::accepted;
  }
}

}  // namespace

void apply_acceptance(const Acceptance& accept, VerifyResult& result) {
  const auto is_requested = [](const InterfaceDifference& difference) { return difference.remark; };
  const bool ran = std::ranges::any_of(result.outputs, [](const OutputComparison& output) { return !output.samples.empty(); });
  if (!accept.is_given() || !ran) return;
  std::vector<Outcome> outcomes;
  const Outcome before = result.outcome;
  for (OutputComparison& output : result.outputs) {
    judge(accept, output);
    outcomes.push_back(output.outcome);
  }
  const auto any = [&](Outcome outcome) { return std::ranges::find(outcomes, outcome) != outcomes.end(); };
  const std::string open = unanswered(accept, result);
  if (!std::ranges::all_of(result.interface, is_requested)) {
    result.outcome = Outcome::different;
  } else if (any(Outcome::different) || !open.empty()) {
    result.outcome = Outcome::different;
    result.reason = open.empty() ? missed_in(result) : open;
  } else if (before == Outcome::inconclusive || any(Outcome::inconclusive)) {
    result.outcome = Outcome::inconclusive;
  } else if (before != Outcome::same || any(Outcome::accepted)) {
    result.outcome = Outcome::accepted;
    result.reason = describe_loss(result);
  }
}

}  // namespace relayout
