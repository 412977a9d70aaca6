// Judges the loss of one node of a quantized model: rounding, "another result than its steps give", a missing operator, one channel, or
// range ends that cut off too much.
#include "verify/nodes/node_loss.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/text.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/measured_types.h"
#include "verify/nodes/channel_losses.h"
#include "verify/output_loss.h"
#include "verify/rules.h"

namespace relayout {
namespace {

constexpr const char* kAnother = "another result than its steps give";

/// Relative amount by which rounding may scale a value as a whole: a constant that is rounded once multiplies all of it.
double gain_of_rounding(DataType type) {
  return rules::kGainRoundings * unit_roundoff(type);
}

/// Σ of squares of the part of b − a that is proportional to a: next to none for rounding to nearest, which errs as often up as down.
double squares_by_gain(const LossSums& sums) {
  if (static_cast<double>(sums.elements) < rules::kElementsForGain || !(sums.squares_a > 0)) return 0;
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
  if (loss.missing != nullptr && loss.other.squares_error > rules::kExcessLoss * loss.rounding.squares_error) {
    one.fault = "a's " + quote(loss.missing->name()) + " (" + escape(loss.missing->op_type()) + ") is missing";
    return {Judgement::Verdict::other, loss.other.squares_error / loss.measured.squares_a};
  }
  if (!loss.expected_is_known) return {};
  one.expected = std::min(signal_to_noise(loss.expected), rules::kFloatLoss);
  const double by_rounding = std::min(signal_to_noise(loss.rounding), rules::kFloatLoss);
  const double lost = loss.measured.squares_a * std::pow(10.0, -by_rounding / 10), other = loss.other.squares_error;
  const double by_gain = std::max(lost, loss.measured.squares_a * std::pow(gain_of_rounding(loss.made), 2));
  if (other > rules::kExcessLoss * lost || squares_by_gain(loss.other) > by_gain) {
    one.fault = kAnother;
    return {Judgement::Verdict::other, other / loss.measured.squares_a};
  }
  const Judgement by_channel = has_cut_constant ? Judgement{} : judge_channels(loss, one);
  if (by_channel.verdict == Judgement::Verdict::other) return by_channel;
  if (!(loss.squares_clipped > rules::kExcessLoss * lost)) return {};
  one.fault = "the ends of its range cut off more than its steps";
  return {Judgement::Verdict::clipped, loss.squares_clipped / loss.measured.squares_a};
}

}  // namespace relayout
