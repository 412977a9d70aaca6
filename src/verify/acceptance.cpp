// Measures the loss of an output over all samples, and judges it by the limits that the user accepts.
#include "verify/acceptance.h"

#include <cmath>
#include <limits>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/verify.h"

namespace relayout {

// The loss of an output.
namespace {

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double cosine(const LossSums& sums) {
  if (sums.squares_a == 0 || sums.squares_b == 0) return sums.squares_a == sums.squares_b ? 1 : 0;
  return std::clamp(sums.product / (std::sqrt(sums.squares_a) * std::sqrt(sums.squares_b)), -1.0, 1.0);
}

double signal_to_noise(const LossSums& sums) {
  if (sums.squares_error == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.squares_a / sums.squares_error);
}

LossSums& LossSums::operator+=(const LossSums& other) {
  squares_a += other.squares_a;
  squares_b += other.squares_b;
  product += other.product;
  squares_error += other.squares_error;
  elements += other.elements;
  rows += other.rows;
  top1 += other.top1;
  top5 += other.top5;
  return *this;
}

std::optional<Loss> loss_of(const OutputComparison& output) {
  // Sums over the other elements would call it no loss.
  const auto is_lost = [](const SampleMetrics& metrics) { return metrics.non_finite.unequal() > 0; };
  if (std::ranges::any_of(output.samples, is_lost)) return std::nullopt;
  LossSums sums;
  Loss loss;
  loss.worst_snr = std::numeric_limits<double>::infinity();
  int64_t mismatches = 0;
  for (const SampleMetrics& metrics : output.samples) {
    sums += metrics.sums;
    mismatches += metrics.mismatches;
    loss.error = std::max(loss.error, metrics.max_error);
    loss.worst_snr = std::min(loss.worst_snr, signal_to_noise(metrics.sums));
  }
  if (sums.elements == 0) return std::nullopt;
  loss.snr = signal_to_noise(sums);
  loss.cosine = cosine(sums);
  loss.match = share(sums.elements - mismatches, sums.elements);
  if (sums.rows > 0) loss.top1 = share(sums.top1, sums.rows);
  if (sums.rows > 0) loss.top5 = share(sums.top5, sums.rows);
  return loss;
}

std::string describe_loss(const VerifyResult& result) {
  const OutputComparison* worst = nullptr;
  for (const OutputComparison& output : result.outputs) {
    if (!output.loss || !is_measured(output.type)) continue;
    if (worst == nullptr || output.loss->snr < worst->loss->snr) worst = &output;
  }
  if (worst == nullptr) return {};
  std::string out = decibels(worst->loss->snr);
  if (worst->samples.size() > 1 && worst->loss->worst_snr < worst->loss->snr) {
    out += " (worst sample " + decibels(worst->loss->worst_snr) + ")";
  }
  if (worst->loss->top1) out += ", top-1 " + share_text(*worst->loss->top1);
  if (result.outputs.size() > 1) out += ", output " + worst->name;
  return out;
}

// The limits of `--accept`.
namespace {

/// Reason of the first difference that no bound of a loss covers: other dims, or NaN and infinities on one side alone. Empty: none.
std::string inexcusable(const OutputComparison& output) {
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

}  // namespace

std::string beyond_limits(const Acceptance& accept, const OutputComparison& output) {
  const std::string why = inexcusable(output);
  return why.empty() ? missed(accept, output) : why;
}

std::string missed_by_loss(const Acceptance& accept, const VerifyResult& result) {
  const auto differs = [](const OutputComparison& output) { return output.outcome == Outcome::different; };
  return std::ranges::any_of(result.outputs, differs) ? missed_in(result) : unanswered(accept, result);
}

std::string limits_for(const VerifyResult& result) {
  bool has_real = false, has_scores = false, has_other_integers = false;
  for (const OutputComparison& output : result.outputs) {
    const bool is_real = is_measured(output.type);
    has_real = has_real || is_real;
    has_scores = has_scores || (is_real && output.loss && output.loss->top1);
    has_other_integers = has_other_integers || (!is_real && output.outcome == Outcome::different);
  }
  std::string out;
  const auto add = [&](bool has, const char* bound) { out += has ? (out.empty() ? "" : ",") + std::string(bound) : ""; };
  add(has_real, "snr=…"), add(has_scores, "top1=…"), add(has_other_integers, "match=…");
  return out;
}

}  // namespace relayout
