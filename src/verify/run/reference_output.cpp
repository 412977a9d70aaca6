// Keeps the range of an output over a sample, and notes what its values over all samples cannot show.
#include "verify/run/reference_output.h"

#include <cmath>
#include <tuple>

#include "base/hash.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/thresholds.h"

namespace relayout {

// Range, standard deviation and RMS of finite values, the units in which errors are stated.
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

// Constant values, and those independent of the inputs.
// Signs by which an output shows nothing.
namespace {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t hash) {
  for (const std::byte byte : bytes) hash = fnv_1a(hash, std::to_integer<uint64_t>(byte));
  return hash;
}

uint64_t hash_slice(const Tensor& dense, int64_t first, int64_t count, uint64_t hash) {
  if (dense.type() == DataType::string) {
    for (int64_t i = first; i < first + count; ++i) {
      const std::string& text = dense.data<std::string>()[i];
      hash = hash_bytes(std::as_bytes(std::span(text)), hash ^ text.size());
    }
    return hash;
  }
  const auto size = static_cast<int64_t>(memory_size(dense.type()));
  return hash_bytes({dense.bytes() + first * size, as_size(count * size)}, hash);
}

}  // namespace

double saturated_share(const Datum& datum) {
  double minimum = std::numeric_limits<double>::infinity(), maximum = -minimum;
  int64_t finite = 0, at_extremes = 0;
  const auto each = [&](const auto& f) {
    for (const Tensor& leaf : leaves(datum)) {
      if (!leaf || !is_measured(leaf.type())) continue;
      for_each_chunk(real_parts(leaf), [&](int64_t, std::span<const double> values) {
        for (const double value : values) {
          if (std::isfinite(value)) f(value);
        }
      });
    }
  };
  each([&](double value) {
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    ++finite;
  });
  if (finite < 3) return 0;
  each([&](double value) { at_extremes += value == minimum || value == maximum ? 1 : 0; });
  return static_cast<double>(at_extremes) / static_cast<double>(finite);
}

std::vector<uint64_t> slice_hashes(const Datum& datum) {
  constexpr int64_t kMaxSlices = 64;
  std::vector<uint64_t> hashes;
  for (const Tensor& leaf : leaves(datum)) {
    if (!leaf) continue;
    const Tensor dense = contiguous(leaf);
    const int64_t count = dense.element_count();
    const int64_t slices = dense.rank() == 0 ? 1 : dense.dims()[0];
    const int64_t size = slices == 0 ? 0 : count / slices;
    uint64_t basis = kFnvBasis;
    for (std::size_t i = 1; i < dense.dims().size(); ++i) basis = (basis ^ static_cast<uint64_t>(dense.dims()[i])) * 31;
    for (int64_t i = 0; i < std::min(slices, kMaxSlices); ++i) hashes.push_back(hash_slice(dense, i * size, size, basis));
  }
  return hashes;
}

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
  saturated_ += share > thresholds::kSaturatedShare ? 1 : 0;

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
  if (yardstick_.count() == 0) return "no finite value: NaN and infinities in both confirm nothing";
  if (declared_.is_fixed) return std::nullopt;
  if (yardstick_.is_constant() && yardstick_.count() > 1) return "constant: every element is " + exact_number(yardstick_.mean());
  if (varied && compared_ && independent_) return "same bytes for every sample: it does not depend on the inputs";
  if (declared_.may_saturate && saturated_ == samples_) {
    return "saturated: " + std::to_string(static_cast<int>(std::floor(100 * least_saturated_share_))) +
           " % of its elements are at its smallest or largest value";
  }
  return std::nullopt;
}

}  // namespace relayout
