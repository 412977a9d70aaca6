// Compares values element by element: errors, bounds, distances in units in the last place.
#include "verify/compare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/half.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/vectorize.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/elements.h"
#include "verify/rules.h"

namespace relayout {
namespace {

constexpr std::size_t kMaxDescribed = 4;
constexpr int64_t kScoreClasses = 5;

void collect_leaves(const Datum& datum, std::vector<Tensor>& out) {
  if (datum.kind == Datum::Kind::tensor) {
    out.push_back(datum.tensor);
    return;
  }
  for (const Datum& element : datum.elements) collect_leaves(element, out);
}

/// The type whose precision counts: of a complex number, its parts'.
DataType precision_type(DataType type) {
  if (type == DataType::complex64) return DataType::float32;
  if (type == DataType::complex128) return DataType::float64;
  return type;
}

/// Position on the line of all values of a type: neighbours differ by one.
uint64_t ordinal(DataType type, double value) {
  const auto order = [](uint64_t bits, unsigned width) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    return (bits & sign) != 0 ? sign - (bits & (sign - 1)) : sign + bits;
  };
  switch (type) {
    case DataType::float64:
      return order(std::bit_cast<uint64_t>(value), 64);
    case DataType::float32:
      return order(std::bit_cast<uint32_t>(static_cast<float>(value)), 32);
    case DataType::float16:
      return order(double_to_half(value), 16);
    case DataType::bfloat16:
      return order(double_to_bfloat16(value), 16);
    default:
      return order(encode_small_float(type, value, /*saturate=*/true), 8);
  }
}

std::size_t ulp_bin(DataType type, double a, double b) {
  const uint64_t x = ordinal(type, a), y = ordinal(type, b);
  const uint64_t apart = x > y ? x - y : y - x;
  return as_size(64 - std::countl_zero(apart));
}

Dims index_of(const Dims& dims, int64_t flat) {
  Dims index(dims.size(), 0);
  for (std::size_t i = dims.size(); i-- > 0;) {
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return index;
}

/// Metrics under construction.
struct Sums {
  int64_t finite = 0;
  bool first_non_finite = true;  ///< none was noted yet
};

/// Notes one element of which at least one side is not finite; returns false when both are finite.
bool note_non_finite(double a, double b, SampleMetrics& metrics, Sums& sums, const Tensor& tensor, int64_t flat) {
  if (std::isfinite(a) && std::isfinite(b)) return false;
  if (std::isnan(a) && std::isnan(b)) {
    ++metrics.nan_both;
    return true;
  }
  if (a == b) return true;
  if (std::isnan(a)) {
    ++metrics.nan_a;
  } else if (std::isnan(b)) {
    ++metrics.nan_b;
  } else {
    ++metrics.infinite_mismatches;
    if (std::isfinite(b)) ++metrics.infinite_a;
  }
  if (sums.first_non_finite) {
    sums.first_non_finite = false;
    metrics.at = index_of(tensor.dims(), flat);
    metrics.value_a = a;
    metrics.value_b = b;
  }
  return true;
}

void measure_tensor(const Tensor& left, const Tensor& right, SampleMetrics& metrics, Sums& sums) {
  const Tensor a = real_parts(left), b = real_parts(right);
  metrics.ulp_histogram.resize(as_size(traits(a.type()).bits) + 1, 0);
  for_each_chunk(a, b, [&](int64_t first, std::span<const double> values_a, std::span<const double> values_b) {
    for (std::size_t i = 0; i < values_a.size(); ++i) {
      const double x = values_a[i], y = values_b[i];
      const int64_t flat = first + static_cast<int64_t>(i);
      if (note_non_finite(x, y, metrics, sums, a, flat)) continue;
      const double apart = std::fabs(x - y);
      if (apart > metrics.max_abs) {
        metrics.max_abs = apart;
        if (sums.first_non_finite) {
          metrics.at = index_of(a.dims(), flat);
          metrics.value_a = x;
          metrics.value_b = y;
        }
      }
      metrics.sums.squares_error += apart * apart;
      metrics.sums.product += x * y;
      metrics.sums.squares_a += x * x;
      metrics.sums.squares_b += y * y;
      ++sums.finite;
      ++metrics.ulp_histogram[ulp_bin(a.type(), x, y)];
    }
  });
}

/// Indices of the `count` largest values, largest first; the first of equals wins.
std::vector<std::size_t> top_indices(std::span<const double> row, std::size_t count) {
  std::vector<std::size_t> order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t x, std::size_t y) { return row[x] != row[y] ? row[x] > row[y] : x < y; });
  order.resize(count);
  return order;
}

/// How often the entry that a finds best is b's best, or among b's five best, where the output looks like rows of scores.
void measure_scores(const Datum& left, const Datum& right, SampleMetrics& metrics) {
  const Dims dims = left.kind == Datum::Kind::tensor ? left.tensor.dims() : Dims{};
  // Of a picture, or for each token of a text.
  if ((dims.size() != 2 && dims.size() != 3) || dims.back() < kScoreClasses) return;
  if (!traits(left.tensor.type()).is_float || metrics.nan_a + metrics.nan_b + metrics.nan_both > 0) return;
  const Tensor a = contiguous(left.tensor), b = contiguous(right.tensor);
  const int64_t columns = dims.back(), rows = a.element_count() / columns, stride = element_stride(a.type());
  std::vector<double> row_a(as_size(columns)), row_b(row_a.size());
  metrics.sums.rows = rows;
  for (int64_t row = 0; row < rows; ++row) {
    load<double>(a.type(), a.bytes() + row * columns * stride, 1, columns, row_a.data());
    load<double>(b.type(), b.bytes() + row * columns * stride, 1, columns, row_b.data());
    const std::size_t best_a = top_indices(row_a, 1).front();
    const auto best_b = top_indices(row_b, kScoreClasses);
    metrics.sums.top1 += best_a == best_b.front() ? 1 : 0;
    metrics.sums.top5 += std::ranges::find(best_b, best_a) != best_b.end() ? 1 : 0;
  }
  metrics.top1 = metrics.sums.top1 == rows;
  metrics.top5 = metrics.sums.top5 == rows;
}

std::string exact_text(const Tensor& tensor, int64_t flat) {
  const Tensor dense = contiguous(tensor);
  const std::byte* const at = dense.bytes() + flat * element_stride(tensor.type());
  switch (tensor.type()) {
    case DataType::string:
      return quote(*reinterpret_cast<const std::string*>(at));
    case DataType::boolean:
      return std::to_integer<int>(*at) != 0 ? "true" : "false";
    case DataType::uint64:
      return std::to_string(load_one<uint64_t>(tensor.type(), at));
    default:
      return traits(tensor.type()).is_float ? exact_number(load_one<double>(tensor.type(), at))
                                            : std::to_string(load_one<int64_t>(tensor.type(), at));
  }
}

bool elements_equal(const Tensor& a, const Tensor& b, int64_t flat) {
  if (a.type() == DataType::string) return a.data<std::string>()[flat] == b.data<std::string>()[flat];
  const auto size = static_cast<int64_t>(memory_size(a.type()));
  if (a.type() == DataType::boolean) return (a.bytes()[flat] != std::byte{0}) == (b.bytes()[flat] != std::byte{0});
  return std::memcmp(a.bytes() + flat * size, b.bytes() + flat * size, as_size(size)) == 0;
}

/// Integers, bools, strings: every element the same.
void compare_exactly(const Tensor& left, const Tensor& right, SampleMetrics& metrics) {
  const Tensor a = contiguous(left), b = contiguous(right);
  const int64_t count = a.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (elements_equal(a, b, i)) continue;
    if (metrics.mismatches++ > 0) continue;
    metrics.at = index_of(a.dims(), i);
    if (a.type() != DataType::string) {
      metrics.value_a = load_one<double>(a.type(), a.bytes() + i * element_stride(a.type()));
      metrics.value_b = load_one<double>(b.type(), b.bytes() + i * element_stride(b.type()));
    }
    metrics.reason = "first " + to_string(metrics.at) + ": " + exact_text(b, i) + ", was " + exact_text(a, i);
  }
}

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t hash) {
  constexpr uint64_t kPrime = 0x100000001B3ULL;  // FNV-1a
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<uint64_t>(byte)) * kPrime;
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

/// What makes non-finite elements a difference; empty when nothing does.
std::string non_finite_reason(const SampleMetrics& metrics) {
  const auto counted = [](int64_t count, const char* what) {
    return std::to_string(count) + (count == 1 ? " element is " : " elements are ") + what;
  };
  std::string where =
      " (first " + to_string(metrics.at) + ": " + exact_number(metrics.value_b) + ", was " + exact_number(metrics.value_a) + ")";
  if (metrics.nan_b > 0) return counted(metrics.nan_b, "NaN in B only") + where;
  if (metrics.nan_a > 0) return counted(metrics.nan_a, "NaN in A only") + where;
  if (metrics.infinite_mismatches > 0) return counted(metrics.infinite_mismatches, "infinite in one of both") + where;
  return {};
}

}  // namespace

std::vector<Tensor> leaves(const Datum& datum) {
  std::vector<Tensor> out;
  collect_leaves(datum, out);
  return out;
}

std::string describe(const Datum& datum) {
  if (datum.kind == Datum::Kind::tensor) {
    return datum.tensor ? std::string(name_of(datum.tensor.type())) + to_string(datum.tensor.dims()) : "nothing";
  }
  if (datum.kind == Datum::Kind::optional) return datum.elements.empty() ? "nothing" : "optional " + describe(datum.elements.front());
  std::string out = "sequence of " + std::to_string(datum.elements.size());
  for (std::size_t i = 0; i < datum.elements.size() && i < kMaxDescribed; ++i) out += (i == 0 ? ": " : ", ") + describe(datum.elements[i]);
  return datum.elements.size() > kMaxDescribed ? out + " …" : out;
}

std::string structural_difference(const Datum& a, const Datum& b) {
  const bool same_here = a.kind == b.kind && a.elements.size() == b.elements.size() && a.tensor.type() == b.tensor.type() &&
                         a.tensor.dims() == b.tensor.dims();
  if (!same_here) return describe(b) + ", was " + describe(a);
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    const std::string inner = structural_difference(a.elements[i], b.elements[i]);
    if (!inner.empty()) return a.kind == Datum::Kind::sequence ? "element " + std::to_string(i) + ": " + inner : inner;
  }
  return {};
}

bool bit_equal(const Datum& a, const Datum& b) {
  if (!structural_difference(a, b).empty()) return false;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i]) continue;
    const Tensor x = contiguous(left[i]), y = contiguous(right[i]);
    const int64_t count = x.element_count();
    if (x.type() == DataType::string) {
      if (!std::equal(x.data<std::string>(), x.data<std::string>() + count, y.data<std::string>())) return false;
    } else if (count > 0 && std::memcmp(x.bytes(), y.bytes(), as_size(count) * memory_size(x.type())) != 0) {
      return false;
    }
  }
  return true;
}

bool is_measured(DataType type) noexcept {
  switch (type) {
    case DataType::float32:
    case DataType::float64:
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::complex64:
    case DataType::complex128:
      return true;
    default:
      return false;
  }
}

double unit_roundoff(DataType type) noexcept {
  switch (precision_type(type)) {
    case DataType::float64:
      return 0x1p-53;
    case DataType::float32:
      return 0x1p-24;
    case DataType::float16:
      return 0x1p-11;
    case DataType::bfloat16:
      return 0x1p-8;
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
      return 0x1p-4;
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return 0x1p-3;
    default:
      return 0;
  }
}

double dtype_minimum(DataType type) noexcept {
  switch (precision_type(type)) {
    case DataType::float64:
      return 1e-14;
    case DataType::float32:
      return 2e-7;
    case DataType::float16:
      return 1e-3;
    case DataType::bfloat16:
      return 8e-3;
    default:
      return 2 * unit_roundoff(type);
  }
}

namespace {

/// Lanes that loops over a chunk are widened to.
constexpr int kLanes = 8;

/// Of the differences of a chunk; squares are not finite where one of them is not.
struct ChunkDistance {
  double largest = 0, squares = 0;
};

RELAYOUT_VECTORIZE ChunkDistance distance_of(const double* x, const double* y, int64_t count) {
  double largest[kLanes] = {}, squares[kLanes] = {};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) {
      const double apart = std::fabs(x[i + lane] - y[i + lane]);
      largest[lane] = apart > largest[lane] ? apart : largest[lane];
      squares[lane] += apart * apart;
    }
  }
  ChunkDistance out;
  for (int64_t i = whole; i < count; ++i) {
    const double apart = std::fabs(x[i] - y[i]);
    out.largest = std::max(out.largest, apart);
    out.squares += apart * apart;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out.largest = std::max(out.largest, largest[lane]);
    out.squares += squares[lane];
  }
  return out;
}

/// Of the values of a chunk, sums of what they are beyond `shift`; squares are not finite where one of them is not.
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

Distance distance(const Datum& a, const Datum& b) {
  Distance out;
  double squares = 0;
  int64_t finite = 0;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !is_measured(left[i].type())) continue;
    for_each_chunk(real_parts(left[i]), real_parts(right[i]), [&](int64_t, std::span<const double> x, std::span<const double> y) {
      const ChunkDistance chunk = distance_of(x.data(), y.data(), static_cast<int64_t>(x.size()));
      if (std::isfinite(chunk.squares)) {
        out.max_abs = std::max(out.max_abs, chunk.largest);
        squares += chunk.squares;
        finite += static_cast<int64_t>(x.size());
        return;
      }
      for (std::size_t k = 0; k < x.size(); ++k) {
        const double apart = std::fabs(x[k] - y[k]);
        if (!std::isfinite(apart)) {
          out.apart += x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) ? 0 : 1;
          continue;
        }
        out.max_abs = std::max(out.max_abs, apart);
        squares += apart * apart;
        ++finite;
      }
    });
  }
  if (finite > 0) out.rms = std::sqrt(squares / static_cast<double>(finite));
  return out;
}

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
  constexpr uint64_t kBasis = 0xCBF29CE484222325ULL;  // FNV-1a
  std::vector<uint64_t> hashes;
  for (const Tensor& leaf : leaves(datum)) {
    if (!leaf) continue;
    const Tensor dense = contiguous(leaf);
    const int64_t count = dense.element_count();
    const int64_t slices = dense.rank() == 0 ? 1 : dense.dims()[0];
    const int64_t size = slices == 0 ? 0 : count / slices;
    uint64_t basis = kBasis;
    for (std::size_t i = 1; i < dense.dims().size(); ++i) basis = (basis ^ static_cast<uint64_t>(dense.dims()[i])) * 31;
    for (int64_t i = 0; i < std::min(slices, kMaxSlices); ++i) hashes.push_back(hash_slice(dense, i * size, size, basis));
  }
  return hashes;
}

double cosine(const LossSums& sums) {
  if (sums.squares_a == 0 || sums.squares_b == 0) return sums.squares_a == sums.squares_b ? 1 : 0;
  return std::clamp(sums.product / (std::sqrt(sums.squares_a) * std::sqrt(sums.squares_b)), -1.0, 1.0);
}

double signal_to_noise(const LossSums& sums) {
  if (sums.squares_error == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.squares_a / sums.squares_error);
}

SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick) {
  SampleMetrics metrics;
  Sums sums;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  if (!left.empty()) metrics.dims = left.front().dims();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i]) continue;
    metrics.sums.elements += left[i].element_count();
    if (is_measured(left[i].type())) {
      measure_tensor(left[i], right[i], metrics, sums);
    } else {
      compare_exactly(left[i], right[i], metrics);
    }
  }
  const double rms = sums.finite > 0 ? std::sqrt(metrics.sums.squares_error / static_cast<double>(sums.finite)) : 0;
  metrics.max_error = metrics.max_abs / yardstick.range();
  metrics.rms_error = rms / yardstick.sigma();
  metrics.psnr = rms > 0 ? 20 * std::log10(yardstick.range() / rms) : std::numeric_limits<double>::infinity();
  metrics.cosine = cosine(metrics.sums);
  while (!metrics.ulp_histogram.empty() && metrics.ulp_histogram.back() == 0) metrics.ulp_histogram.pop_back();
  measure_scores(a, b, metrics);
  return metrics;
}

Floor least_floor(DataType type, const Yardstick& sample) {
  const double unit = unit_roundoff(type);
  return {unit * sample.largest() / sample.range(), unit * sample.rms() / sample.sigma()};
}

Floor relative(const Distance& apart, const Yardstick& sample) {
  return {apart.max_abs / sample.range(), apart.rms / sample.sigma()};
}

void widen(Floor& floor, const Floor& other) {
  floor.max = std::max(floor.max, other.max);
  floor.rms = std::max(floor.rms, other.rms);
}

bool is_ill_conditioned(DataType type, const Floor& floor) {
  if (!is_measured(type)) return false;
  const bool narrow = unit_roundoff(type) >= unit_roundoff(DataType::float16);
  return floor.max > (narrow ? rules::kIllConditionedNarrow : rules::kIllConditioned);
}

void decide(SampleMetrics& metrics, DataType type, const Floor& floor) {
  if (!is_measured(type)) {
    metrics.outcome = metrics.mismatches > 0 ? Outcome::different : Outcome::same;
    if (metrics.mismatches > 0) {
      metrics.reason =
          format_count(metrics.mismatches) + (metrics.mismatches == 1 ? " element differs, " : " elements differ, ") + metrics.reason;
    }
    return;
  }
  const double minimum = dtype_minimum(type);
  metrics.floor_max = floor.max;
  metrics.floor_rms = floor.rms;
  metrics.ill_conditioned = is_ill_conditioned(type, floor);
  metrics.bound_max = std::max(kFloorFactor * floor.max, minimum);
  metrics.bound_rms = std::max(kFloorFactor * floor.rms, minimum);
  metrics.least_bound = minimum > kFloorFactor * floor.max;
  const auto bound_text = [&](double bound) {
    return short_number(bound) +
           (bound > minimum ? ", " + std::to_string(kFloorFactor) + " × floor" : ", the least bound of " + std::string(name_of(type)));
  };
  metrics.ratio = metrics.max_error == 0 ? 0 : metrics.max_error / floor.max;
  metrics.reason = non_finite_reason(metrics);
  if (metrics.reason.empty() && !(metrics.max_error <= metrics.bound_max)) {
    metrics.reason = "error/range " + short_number(metrics.max_error) + " is above " + bound_text(metrics.bound_max);
  }
  if (metrics.reason.empty() && !(metrics.rms_error <= metrics.bound_rms)) {
    metrics.reason = "RMS/deviation " + short_number(metrics.rms_error) + " is above " + bound_text(metrics.bound_rms);
  }
  if (metrics.reason.empty() && metrics.beyond_tolerance > 0) {
    metrics.reason = format_count(metrics.beyond_tolerance) + (metrics.beyond_tolerance == 1 ? " element is" : " elements are") +
                     " beyond --rtol, --atol";
  }
  metrics.outcome = metrics.reason.empty() ? Outcome::same : Outcome::different;
}

int64_t count_mismatches(const Datum& a, const Datum& b) {
  return measure(a, b, Yardstick()).mismatches;
}

int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol) {
  int64_t beyond = 0;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !is_measured(left[i].type())) continue;
    for_each_chunk(real_parts(left[i]), real_parts(right[i]), [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        const bool equal = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]));
        const bool near = std::isfinite(x[k]) && std::fabs(x[k] - y[k]) <= atol + rtol * std::fabs(x[k]);
        beyond += equal || near ? 0 : 1;
      }
    });
  }
  return beyond;
}

std::string short_number(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, 1).ptr;
  return {text.data(), end};
}

std::string exact_number(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text;
  const auto narrow = static_cast<float>(value);
  // The shortest text that gives the value back; a value of f32 needs no more digits than f32 has.
  const bool is_narrow = static_cast<double>(narrow) == value;
  const auto end = is_narrow ? std::to_chars(text.data(), text.data() + text.size(), narrow).ptr
                             : std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace relayout
