// The range, standard deviation and RMS of an output's finite values over one sample, the units in which errors are stated. It takes one
// pass over vector lanes.
#include "verify/run/yardstick.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "base/vectorize.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "verify/run/data_structure.h"
#include "verify/run/elements.h"

namespace relayout {
namespace {

/// Lanes of the vectorized loops over a chunk.
constexpr int kLanes = 8;

/// Smallest and largest value of a chunk, and sums of value − `shift` and its square; the latter is not finite if a value is not.
struct ChunkSpread {
  double minimum = 0, maximum = 0, sum = 0, squares = 0;
};

RELAYOUT_VECTORIZE ChunkSpread spread_of(const double* values, int64_t count, double shift) {
  double minimum[kLanes], maximum[kLanes], sum[kLanes] = {}, squares[kLanes] = {};
  std::fill_n(minimum, kLanes, values[0]);
  std::fill_n(maximum, kLanes, values[0]);
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane], beyond = value - shift;
      minimum[lane] = value < minimum[lane] ? value : minimum[lane];
      maximum[lane] = value > maximum[lane] ? value : maximum[lane];
      sum[lane] += beyond;
      squares[lane] += beyond * beyond;
    }
  }
  ChunkSpread out{values[0], values[0]};
  const auto add = [&](double low, double high, double beyond, double square) {
    out.minimum = std::min(out.minimum, low);
    out.maximum = std::max(out.maximum, high);
    out.sum += beyond;
    out.squares += square;
  };
  for (int64_t i = whole; i < count; ++i) add(values[i], values[i], values[i] - shift, (values[i] - shift) * (values[i] - shift));
  for (int lane = 0; lane < kLanes; ++lane) add(minimum[lane], maximum[lane], sum[lane], squares[lane]);
  return out;
}

}  // namespace

void Yardstick::add(const Datum& reference) {
  for (const Tensor& leaf : leaves(reference)) {
    if (!leaf || !is_measured(leaf.type())) continue;
    for_each_chunk(real_parts(leaf), [&](int64_t /*first*/, std::span<const double> values) {
      const double shift = count_ == 0 ? values.front() : shift_;
      const ChunkSpread spread = spread_of(values.data(), static_cast<int64_t>(values.size()), shift);
      if (std::isfinite(spread.squares)) {
        shift_ = shift;
        count_ += static_cast<int64_t>(values.size());
        minimum_ = std::min(minimum_, spread.minimum);
        maximum_ = std::max(maximum_, spread.maximum);
        sum_ += spread.sum;
        squares_ += spread.squares;
        return;
      }
      for (const double value : values) {
        if (!std::isfinite(value)) {
          has_infinite_ = has_infinite_ || std::isinf(value);
          continue;
        }
        if (count_++ == 0) shift_ = value;
        minimum_ = std::min(minimum_, value);
        maximum_ = std::max(maximum_, value);
        sum_ += value - shift_;
        squares_ += (value - shift_) * (value - shift_);
      }
    });
  }
  if (count_ > 0) largest_ = std::max(std::fabs(minimum_), std::fabs(maximum_));
}

double Yardstick::range() const noexcept {
  if (count_ > 0 && minimum_ != maximum_) return std::min(maximum_ - minimum_, std::numeric_limits<double>::max());
  return largest_ > 0 ? largest_ : 1;
}

double Yardstick::sigma() const noexcept {
  if (count_ == 0 || minimum_ == maximum_) return range();
  const auto n = static_cast<double>(count_);
  const double variance = squares_ / n - (sum_ / n) * (sum_ / n);
  // The exact variance is at least range² / (2 n).
  const double least = (maximum_ - minimum_) * (maximum_ - minimum_) / (2 * n);
  return std::sqrt(std::max(variance, least));
}

double Yardstick::rms() const noexcept {
  if (count_ == 0) return 0;
  const auto n = static_cast<double>(count_);
  const double variance = std::max(0.0, squares_ / n - (sum_ / n) * (sum_ / n));
  return std::sqrt(mean() * mean() + variance);
}

}  // namespace relayout
