// Computes the figures of one output in one sample that need no floor.

#include "base/half.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/acceptance.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/reference_output.h"

namespace relayout {
namespace {

constexpr int64_t kScoreClasses = 5;

/// Position of a value among all values of its type: neighbours differ by one.
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

/// State of a measurement that is not part of the metrics.
struct Sums {
  bool are_errors_enough = false;
  int64_t finite = 0;
  bool first_non_finite = true;  ///< none noted yet
};

/// Notes an element that is not finite on at least one side; returns false if both are finite.
bool note_non_finite(double a, double b, SampleMetrics& metrics, Sums& sums, const Tensor& tensor, int64_t flat) {
  if (std::isfinite(a) && std::isfinite(b)) return false;
  if (std::isnan(a) && std::isnan(b)) {
    ++metrics.non_finite.nan_both;
    return true;
  }
  if (a == b) return true;
  NonFinite& counts = metrics.non_finite;
  if (std::isnan(a)) {
    ++counts.nan_a;
  } else if (std::isnan(b)) {
    ++counts.nan_b;
  } else {
    ++counts.infinite;
    if (std::isfinite(b)) ++counts.infinite_a;
  }
  if (sums.first_non_finite) {
    sums.first_non_finite = false;
    metrics.worst = {index_of(tensor.dims(), flat), a, b};
  }
  return true;
}

void measure_tensor(const Tensor& left, const Tensor& right, SampleMetrics& metrics, Sums& sums) {
  const Tensor a = real_parts(left), b = real_parts(right);
  metrics.ulp_histogram.resize(as_size(traits(a.type()).bits) + 1, 0);
  for_each_chunk(a, b, [&](int64_t first, std::span<const double> values_a, std::span<const double> values_b) {
    if (sums.are_errors_enough) {
      const ChunkDistance chunk = distance_of(values_a, values_b);
      if (std::isfinite(chunk.squares)) {
        metrics.max_abs = std::max(metrics.max_abs, chunk.largest);
        metrics.sums.squares_error += chunk.squares;
        sums.finite += static_cast<int64_t>(values_a.size());
        return;
      }
    }
    for (std::size_t i = 0; i < values_a.size(); ++i) {
      const double x = values_a[i], y = values_b[i];
      const int64_t flat = first + static_cast<int64_t>(i);
      if (note_non_finite(x, y, metrics, sums, a, flat)) continue;
      const double apart = std::fabs(x - y);
      if (apart > metrics.max_abs) {
        metrics.max_abs = apart;
        if (sums.first_non_finite) metrics.worst = {index_of(a.dims(), flat), x, y};
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

/// Indices of the `count` largest values, largest first; of equal values, the lowest index first.
std::vector<std::size_t> top_indices(std::span<const double> row, std::size_t count) {
  std::vector<std::size_t> order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t x, std::size_t y) { return row[x] != row[y] ? row[x] > row[y] : x < y; });
  order.resize(count);
  return order;
}

/// Counts rows whose best entry of a is b's best, or among b's five best, if the output looks like rows of scores.
void measure_scores(const Datum& left, const Datum& right, SampleMetrics& metrics) {
  const Dims dims = left.kind == Datum::Kind::tensor ? left.tensor.dims() : Dims{};
  // Scores of a picture, or of each token of a text.
  if ((dims.size() != 2 && dims.size() != 3) || dims.back() < kScoreClasses) return;
  if (!traits(left.tensor.type()).is_float || metrics.non_finite.nan_a + metrics.non_finite.nan_b + metrics.non_finite.nan_both > 0) return;
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

/// Compares integers, bools and strings: every element has to be equal.
void compare_exactly(const Tensor& left, const Tensor& right, SampleMetrics& metrics) {
  const Tensor a = contiguous(left), b = contiguous(right);
  const int64_t count = a.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (elements_equal(a, b, i)) continue;
    if (metrics.mismatches++ > 0) continue;
    metrics.worst.at = index_of(a.dims(), i);
    if (a.type() != DataType::string) {
      metrics.worst.a = load_one<double>(a.type(), a.bytes() + i * element_stride(a.type()));
      metrics.worst.b = load_one<double>(b.type(), b.bytes() + i * element_stride(b.type()));
    }
    metrics.reason = "first " + to_string(metrics.worst.at) + ": " + exact_text(b, i) + ", was " + exact_text(a, i);
  }
}

/// Returns the root mean square difference.
double add_leaves(const Datum& a, const Datum& b, SampleMetrics& metrics, Sums sums, const Yardstick& yardstick) {
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
  return rms;
}

}  // namespace

SampleMetrics measure_errors(const Datum& a, const Datum& b, const Yardstick& yardstick) {
  SampleMetrics metrics;
  (void)add_leaves(a, b, metrics, {.are_errors_enough = true}, yardstick);
  return metrics;
}

SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick) {
  SampleMetrics metrics;
  const double rms = add_leaves(a, b, metrics, {}, yardstick);
  metrics.psnr = rms > 0 ? 20 * std::log10(yardstick.range() / rms) : std::numeric_limits<double>::infinity();
  metrics.cosine = cosine(metrics.sums);
  while (!metrics.ulp_histogram.empty() && metrics.ulp_histogram.back() == 0) metrics.ulp_histogram.pop_back();
  measure_scores(a, b, metrics);
  return metrics;
}

int64_t count_mismatches(const Datum& a, const Datum& b) {
  return measure_errors(a, b, Yardstick()).mismatches;
}

}  // namespace relayout
