// Compares two values: kind, type and dims before any numbers count, then how far the numbers are apart.
#include "verify/run/distance.h"

#include <cmath>

#include "base/positions.h"
#include "base/vectorize.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/elements.h"

namespace relayout {

// Kinds, types and dims.
namespace {

constexpr std::size_t kMaxDescribed = 4;

void collect_leaves(const Datum& datum, std::vector<Tensor>& out) {
  if (datum.kind == Datum::Kind::tensor) {
    out.push_back(datum.tensor);
    return;
  }
  // Keys of a map are part of its structure.
  for (std::size_t i = datum.kind == Datum::Kind::map ? 1 : 0; i < datum.elements.size(); ++i) collect_leaves(datum.elements[i], out);
}

/// Whether two tensors of one type and equal dims have the same bits.
bool equal_elements(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(a), y = contiguous(b);
  const int64_t count = x.element_count();
  if (x.type() == DataType::string) return std::equal(x.data<std::string>(), x.data<std::string>() + count, y.data<std::string>());
  return count == 0 || std::memcmp(x.bytes(), y.bytes(), as_size(count) * memory_size(x.type())) == 0;
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
  if (datum.kind == Datum::Kind::map) return "map to " + describe(datum.elements.back());
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
  const bool has_other_keys = a.kind == Datum::Kind::map && !equal_elements(a.elements.front().tensor, b.elements.front().tensor);
  return has_other_keys ? "a map with other keys" : std::string();
}

bool bit_equal(const Datum& a, const Datum& b) {
  if (!structural_difference(a, b).empty()) return false;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  return std::ranges::equal(left, right, [](const Tensor& x, const Tensor& y) { return !x || equal_elements(x, y); });
}

// Numbers, in vectorized loops.
namespace {

/// Lanes of the vectorized loops over a chunk.
constexpr int kLanes = 8;

template <class T>
[[gnu::always_inline]] inline ChunkDistance add_distances(const T* x, const T* y, int64_t count) {
  double largest[kLanes] = {}, squares[kLanes] = {};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) {
      const double apart = std::fabs(static_cast<double>(x[i + lane]) - static_cast<double>(y[i + lane]));
      largest[lane] = apart > largest[lane] ? apart : largest[lane];
      squares[lane] += apart * apart;
    }
  }
  ChunkDistance out;
  for (int64_t i = whole; i < count; ++i) {
    const double apart = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    out.largest = std::max(out.largest, apart);
    out.squares += apart * apart;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out.largest = std::max(out.largest, largest[lane]);
    out.squares += squares[lane];
  }
  return out;
}
RELAYOUT_VECTORIZE ChunkDistance quick_distance(const double* x, const double* y, int64_t count) {
  return add_distances(x, y, count);
}
RELAYOUT_VECTORIZE ChunkDistance quick_distance(const float* x, const float* y, int64_t count) {
  return add_distances(x, y, count);
}

/// Sums over a chunk of each value, of squares and of products; the squares are not finite if an element is not.
struct ChunkSums {
  double count = 0, a = 0, b = 0, square_a = 0, square_b = 0, dot = 0;

  void add(double x, double y) {
    a += x, b += y;
    square_a += x * x, square_b += y * y, dot += x * y;
  }
};

template <class T>
[[gnu::always_inline]] inline ChunkSums add_products(const T* x, const T* y, int64_t count) {
  double a[kLanes] = {}, b[kLanes] = {}, square_a[kLanes] = {}, square_b[kLanes] = {}, dot[kLanes] = {};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) {
      const auto left = static_cast<double>(x[i + lane]), right = static_cast<double>(y[i + lane]);
      a[lane] += left, b[lane] += right;
      square_a[lane] += left * left, square_b[lane] += right * right, dot[lane] += left * right;
    }
  }
  ChunkSums out;
  out.count = static_cast<double>(count);
  for (int64_t i = whole; i < count; ++i) out.add(static_cast<double>(x[i]), static_cast<double>(y[i]));
  for (int lane = 0; lane < kLanes; ++lane) {
    out.a += a[lane], out.b += b[lane];
    out.square_a += square_a[lane], out.square_b += square_b[lane], out.dot += dot[lane];
  }
  return out;
}
RELAYOUT_VECTORIZE ChunkSums quick_sums(const double* x, const double* y, int64_t count) {
  return add_products(x, y, count);
}
RELAYOUT_VECTORIZE ChunkSums quick_sums(const float* x, const float* y, int64_t count) {
  return add_products(x, y, count);
}

/// Calls visit(a, b) for the tensors of two values of one structure that are compared by distance, as real and imaginary parts.
template <class Visit>
void for_each_measured(const Datum& a, const Datum& b, const Visit& visit) {
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] && is_measured(left[i].type())) visit(real_parts(left[i]), real_parts(right[i]));
  }
}

/// Calls, chunk by chunk over two contiguous tensors of one type and dims, add(x, y, count) with pointers to floats or doubles.
template <class Add>
void for_each_pair(const Tensor& a, const Tensor& b, const Add& add) {
  if (a.type() != DataType::float32) {
    return for_each_chunk(a, b, [&](int64_t, std::span<const double> x, std::span<const double> y) {
      add(x.data(), y.data(), static_cast<int64_t>(x.size()));
    });
  }
  const int64_t count = a.element_count();
  for (int64_t first = 0; first < count; first += kElementChunk) {
    add(a.data<float>() + first, b.data<float>() + first, std::min(kElementChunk, count - first));
  }
}

}  // namespace

ChunkDistance distance_of(std::span<const double> x, std::span<const double> y) {
  return quick_distance(x.data(), y.data(), static_cast<int64_t>(x.size()));
}

Distance distance(const Datum& a, const Datum& b) {
  Distance out;
  double squares = 0;
  int64_t finite = 0;
  const auto add = [&](const auto* x, const auto* y, int64_t count) {
    const ChunkDistance chunk = quick_distance(x, y, count);
    if (std::isfinite(chunk.squares)) {
      out.max_abs = std::max(out.max_abs, chunk.largest);
      squares += chunk.squares;
      finite += count;
      return;
    }
    for (int64_t k = 0; k < count; ++k) {
      const double apart = std::fabs(static_cast<double>(x[k]) - static_cast<double>(y[k]));
      if (!std::isfinite(apart)) {
        out.apart += x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) ? 0 : 1;
        continue;
      }
      out.max_abs = std::max(out.max_abs, apart);
      squares += apart * apart;
      ++finite;
    }
  };
  for_each_measured(a, b, [&](const Tensor& x, const Tensor& y) { for_each_pair(x, y, add); });
  if (finite > 0) out.rms = std::sqrt(squares / static_cast<double>(finite));
  return out;
}

Agreement agreement(const Datum& a, const Datum& b) {
  ChunkSums all;
  const auto add = [&](const auto* x, const auto* y, int64_t count) {
    ChunkSums chunk = quick_sums(x, y, count);
    if (!std::isfinite(chunk.square_a + chunk.square_b)) {
      chunk = {};
      for (int64_t k = 0; k < count; ++k) {
        if (!std::isfinite(x[k]) || !std::isfinite(y[k])) continue;
        ++chunk.count;
        chunk.add(static_cast<double>(x[k]), static_cast<double>(y[k]));
      }
    }
    all.count += chunk.count;
    all.a += chunk.a, all.b += chunk.b;
    all.square_a += chunk.square_a, all.square_b += chunk.square_b, all.dot += chunk.dot;
  };
  for_each_measured(a, b, [&](const Tensor& x, const Tensor& y) { for_each_pair(x, y, add); });
  const double variance_a = all.count * all.square_a - all.a * all.a, variance_b = all.count * all.square_b - all.b * all.b;
  if (!(variance_a > 0) || !(variance_b > 0)) return {1, 0, all.count};
  const double covariance = all.count * all.dot - all.a * all.b;
  return {covariance / std::sqrt(variance_a * variance_b), covariance / variance_a - 1, all.count};
}

int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol) {
  int64_t beyond = 0;
  for_each_measured(a, b, [&](const Tensor& left, const Tensor& right) {
    for_each_chunk(left, right, [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        const bool equal = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]));
        const bool near = std::isfinite(x[k]) && std::fabs(x[k] - y[k]) <= atol + rtol * std::fabs(x[k]);
        beyond += equal || near ? 0 : 1;
      }
    });
  });
  return beyond;
}

}  // namespace relayout
