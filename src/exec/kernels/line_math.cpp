// Sums dense lines and finds their maxima, for kernels that work line by line.
#include <algorithm>
#include <cstring>

#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"

namespace relayout::exec {
namespace {

/// Combines lanes by halves, so that every step is a few instructions on vectors.
template <class T, class Combine>
[[gnu::always_inline]] inline T combine_halves(T (&lanes)[kLanes], const Combine& combine) {
  T eight[8], four[4];
  RELAYOUT_KEEP_LOOP for (int lane = 0; lane < 8; ++lane) eight[lane] = combine(lanes[lane], lanes[lane + 8]);
  RELAYOUT_KEEP_LOOP for (int lane = 0; lane < 4; ++lane) four[lane] = combine(eight[lane], eight[lane + 4]);
  return combine(combine(four[0], four[2]), combine(four[1], four[3]));
}

/// From element n on: masks that keep the last n of kLanes lanes.
constexpr uint32_t kAll = UINT32_MAX;
constexpr uint32_t kLastLanes[2 * kLanes] = {0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                             0,    0,    0,    0,    0,    kAll, kAll, kAll, kAll, kAll, kAll,
                                             kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll};

RELAYOUT_VECTORIZE double sum_lanes(const float* in, int64_t count) {
  double totals[kLanes] = {};
  for (int64_t i = 0; i < count;) {
    float lanes[kLanes] = {};
    for (int64_t block = 0; block < 4 && i + kLanes <= count; ++block, i += kLanes) {
      RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += in[i + lane];
    }
    if (i + kLanes > count && count >= kLanes) {  // the remainder, as the end of the last lanes
      uint32_t last[kLanes];
      std::memcpy(last, in + count - kLanes, sizeof last);
      const uint32_t* const mask = kLastLanes + (count - i);
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += std::bit_cast<float>(last[lane] & mask[lane]);
      i = count;
    }
    for (; i + kLanes > count && i < count; ++i) lanes[0] += in[i];
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) totals[lane] += static_cast<double>(lanes[lane]);
  }
  return combine_halves(totals, [](double a, double b) { return a + b; });
}

RELAYOUT_VECTORIZE float maximum_of_lanes(const float* in, int64_t count) {
  if (count < kLanes) {
    float best = in[0];
    for (int64_t i = 1; i < count; ++i) best = larger(best, in[i]);
    return best;
  }
  float lanes[kLanes];
  std::copy_n(in, kLanes, lanes);
  const auto take = [&](const float* x) {
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = larger(lanes[lane], x[lane]);
  };
  for (int64_t i = kLanes; i + kLanes <= count; i += kLanes) take(in + i);
  take(in + count - kLanes);
  return combine_halves(lanes, larger);
}

/// Eight lanes of each line: few enough that their sum takes no longer than they do.
RELAYOUT_VECTORIZE void sum_each_line(float* out, const float* in, int64_t lines, int64_t length, double divisor) {
  constexpr int kWidth = 8;
  for (int64_t line = 0; line < lines; ++line, in += length) {
    double total = 0;
    int64_t i = 0;
    while (i + kWidth <= length) {
      const int64_t end = std::min(length, i + kSumBlock);
      float lanes[kWidth];
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) lanes[lane] = in[i + lane];
      for (i += kWidth; i + kWidth <= end; i += kWidth) {
        RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) lanes[lane] += in[i + lane];
      }
      double four[4];
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < 4; ++lane) four[lane] = double{lanes[lane]} + double{lanes[lane + 4]};
      total += (four[0] + four[2]) + (four[1] + four[3]);
    }
    for (; i < length; ++i) total += double{in[i]};
    out[line] = static_cast<float>(total / divisor);
  }
}

}  // namespace

void sums_of_lines(float* out, const float* in, int64_t lines, int64_t length, double divisor) {
  sum_each_line(out, in, lines, length, divisor);
}

double sum_of(const float* in, int64_t count) {
  return sum_lanes(in, count);
}

float maximum_of(const float* in, int64_t count) {
  return maximum_of_lanes(in, count);
}

}  // namespace relayout::exec
