// Measures the largest and the root mean square difference of two values, in vectorized loops.
#include "verify/run/distance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// Largest difference of a chunk, and the sum of squares; it is not finite if a difference is not.
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

}  // namespace

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

}  // namespace relayout
