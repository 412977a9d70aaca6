// Judges the loss of one node of a quantized model: rounding, or a fault.
#include "verify/quantized/node_loss.h"

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/acceptance.h"
#include "verify/rules.h"
#include "verify/run/bounds.h"
#include "verify/run/elements.h"

namespace relayout {

// Losses by channel.
template <class Add>
bool ChannelLosses::for_each(const Tensor& a, const Tensor& b, const Add& add) {
  const auto axis = checked_axis(axis_, a.dims().size());
  // The first axis is the batch.
  if (is_void_ || !axis || *axis == 0 || !is_measured(a.type())) return false;
  const std::size_t channels = as_size(a.dims()[*axis]);
  if (sums_.empty()) sums_.resize(channels);
  is_void_ = sums_.size() != channels || channels < 2;
  if (is_void_) return false;
  const int64_t inner = element_count(std::span(a.dims()).subspan(*axis + 1));
  for_each_chunk(contiguous(a), contiguous(b), [&](int64_t first, std::span<const double> x, std::span<const double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      add(sums_[as_size((first + static_cast<int64_t>(i)) / inner) % channels], x[i], y[i]);
    }
  });
  return true;
}

void ChannelLosses::add_expected(const Tensor& reference, const Tensor& rounded) {
  (void)for_each(reference, rounded, [](Sums& sums, double x, double y) { sums.expected += (x - y) * (x - y); });
}

void ChannelLosses::add_result(const Tensor& right, const Tensor& made) {
  (void)for_each(right, made, [](Sums& sums, double x, double y) {
    sums.right += x * x;
    sums.product += x * y;
    sums.other += (x - y) * (x - y);
    ++sums.elements;
  });
}

bool ChannelLosses::is_other(const Sums& sums, double lost, double least_gain) {
  if (sums.elements < rules::kFewestElements) return false;
  if (sums.other > rules::kExcessLossEnergy * lost) return true;
  if (static_cast<double>(sums.elements) < rules::kFewestElementsForGain || !(sums.right > 0)) return false;
  const double gain = sums.product / sums.right - 1;
  return std::fabs(gain) > least_gain && gain * gain * sums.right > lost;
}

std::optional<ChannelLosses::Fault> ChannelLosses::worst(double gain) const {
  if (is_void_ || sums_.empty()) return std::nullopt;
  double expected = 0, right = 0;
  for (const Sums& sums : sums_) expected += sums.expected, right += sums.right;
  // A channel with a small expected loss may lose as much as the average channel: few elements are no estimate of the cost of rounding.
  const double least = std::max(expected, right * std::pow(10.0, -rules::kFloatLossDecibels / 10)) / static_cast<double>(sums_.size());
  std::optional<Fault> worst;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!is_other(sums_[i], std::max(sums_[i].expected, least), gain)) continue;
    if (!worst || sums_[i].other > worst->squares) worst = Fault{i, sums_[i].other};
  }
  return worst;
}

namespace {

constexpr const char* kAnother = "another result than its steps give";

/// Relative amount by which rounding may scale a value as a whole: a constant that is rounded once multiplies all of it.
double gain_of_rounding(DataType type) {
  return rules::kGainInRoundings * unit_roundoff(type);
}

/// Σ of squares of the part of b − a that is proportional to a: next to none for rounding to nearest, which errs as often up as down.
double squares_by_gain(const LossSums& sums) {
  if (static_cast<double>(sums.elements) < rules::kFewestElementsForGain || !(sums.squares_a > 0)) return 0;
  const double gain = sums.product / sums.squares_a - 1;
  return gain * gain * sums.squares_a;
}

/// Judges the channel with the largest error among those that compute something else.
Judgement judge_channels(const NodeLoss& loss, QuantizationLoss& one) {
  std::optional<ChannelLosses::Fault> worst;
  std::string axis;
  for (const bool last : {true, false}) {
    const auto fault = (last ? loss.last : loss.second).worst(gain_of_rounding(loss.made));
    if (!fault || (worst && worst->squares >= fault->squares)) continue;
    worst = fault;
    axis = last ? "the last axis" : "the second axis";
  }
  if (!worst) return {};
  one.fault = kAnother;
  one.fault += " at place " + std::to_string(worst->channel) + " of " + axis;
  return {Judgement::Verdict::other, worst->squares / loss.measured.squares_a};
}

}  // namespace

Judgement judge(const NodeLoss& loss, bool has_cut_constant, QuantizationLoss& one) {
  if (loss.rounding.elements == 0) return {};
  if (loss.missing != nullptr && loss.other.squares_error > rules::kExcessLossEnergy * loss.rounding.squares_error) {
    one.fault = "a's " + quote(loss.missing->name()) + " (" + escape(loss.missing->op_type()) + ") is missing";
    return {Judgement::Verdict::other, loss.other.squares_error / loss.measured.squares_a};
  }
  if (!loss.expected_is_known) return {};
  one.expected = std::min(signal_to_noise(loss.expected), rules::kFloatLossDecibels);
  const double by_rounding = std::min(signal_to_noise(loss.rounding), rules::kFloatLossDecibels);
  const double lost = loss.measured.squares_a * std::pow(10.0, -by_rounding / 10), other = loss.other.squares_error;
  const double by_gain = std::max(lost, loss.measured.squares_a * std::pow(gain_of_rounding(loss.made), 2));
  if (other > rules::kExcessLossEnergy * lost || squares_by_gain(loss.other) > by_gain) {
    one.fault = kAnother;
    return {Judgement::Verdict::other, other / loss.measured.squares_a};
  }
  const Judgement by_channel = has_cut_constant ? Judgement{} : judge_channels(loss, one);
  if (by_channel.verdict == Judgement::Verdict::other) return by_channel;
  if (!(loss.squares_clipped > rules::kExcessLossEnergy * lost)) return {};
  one.fault = "the ends of its range cut off more than its steps";
  return {Judgement::Verdict::clipped, loss.squares_clipped / loss.measured.squares_a};
}

}  // namespace relayout
