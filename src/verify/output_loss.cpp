// Loss of one output over all samples, which `--accept` bounds: signal-to-noise in dB, cosine, largest error, share of equal elements,
// top-1, top-5; and its words for the output that loses most.
#include "verify/output_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/numbers.h"
#include "relayout/verify.h"

namespace relayout {
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

}  // namespace relayout
