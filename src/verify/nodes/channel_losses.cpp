// Loss of each channel of a quantized model's value, and the rule by which one channel loses more than rounding or has another scale.
#include "verify/nodes/channel_losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/positions.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/elements.h"
#include "verify/rules.h"

namespace relayout {

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
  if (sums.other > rules::kExcessLoss * lost) return true;
  if (static_cast<double>(sums.elements) < rules::kElementsForGain || !(sums.right > 0)) return false;
  const double gain = sums.product / sums.right - 1;
  return std::fabs(gain) > least_gain && gain * gain * sums.right > lost;
}

std::optional<ChannelLosses::Fault> ChannelLosses::worst(double gain) const {
  if (is_void_ || sums_.empty()) return std::nullopt;
  double expected = 0, right = 0;
  for (const Sums& sums : sums_) expected += sums.expected, right += sums.right;
  // A channel with a small expected loss may lose as much as the average channel: few elements are no estimate of the cost of rounding.
  const double least = std::max(expected, right * std::pow(10.0, -rules::kFloatLoss / 10)) / static_cast<double>(sums_.size());
  std::optional<Fault> worst;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!is_other(sums_[i], std::max(sums_[i].expected, least), gain)) continue;
    if (!worst || sums_[i].other > worst->squares) worst = Fault{i, sums_[i].other};
  }
  return worst;
}

}  // namespace relayout
