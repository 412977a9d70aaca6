#pragma once

#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/verify.h"
#include "verify/run/elements.h"
#include "verify/run/reference_output.h"

namespace relayout {

/// The tensors of a datum from left to right, as views.
[[nodiscard]] std::vector<Tensor> leaves(const Datum& datum);
/// Calls visit(number) for each element of its tensors of real numbers.
template <class Visit>
void for_each_real(const Datum& datum, const Visit& visit) {
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || !kRealTypes.has(tensor.type())) continue;
    for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) { std::ranges::for_each(numbers, visit); });
  }
}
/// Kind, types and dims, e.g. "f32[2, 3]", "sequence of 2: f32[1], f32[4]", "nothing" for an empty optional.
[[nodiscard]] std::string describe(const Datum& datum);
/// The first difference in kind, length, type, rank or dims ("f32[2], was f32[3]"); empty: none.
[[nodiscard]] std::string structural_difference(const Datum& a, const Datum& b);
/// Same structure, same bytes.
[[nodiscard]] bool bit_equal(const Datum& a, const Datum& b);

/// Largest difference of as many numbers, and the sum of squares; it is not finite if a difference is not.
struct ChunkDistance {
  double largest = 0, squares = 0;
};
[[nodiscard]] ChunkDistance distance_of(std::span<const double> x, std::span<const double> y);

struct Distance {
  double max_abs = 0, rms = 0;  ///< largest and RMS difference over the elements that are finite in both
  int64_t apart = 0;            ///< elements that are not finite in one or both, except NaN in both and equal infinities
};
[[nodiscard]] Distance distance(const Datum& a, const Datum& b);

/// Correlation and slope of two values of one structure, over the elements that are finite in both.
struct Agreement {
  double correlation = 1;  ///< Pearson's; 1 where either is constant
  double gain = 0;         ///< slope of b over a, minus one: the relative difference by a common factor
  double count = 0;
};
[[nodiscard]] Agreement agreement(const Datum& a, const Datum& b);

/// Number of elements with |a − b| > atol + rtol · |a|. Elements that are not finite count unless they are NaN in both or equal infinities.
[[nodiscard]] int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol);

/// The metrics of one output over one sample that need no floor. The structures must be equal.
[[nodiscard]] SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick);
/// The errors and counts alone, which decide: no worst element, no histogram, no loss.
[[nodiscard]] SampleMetrics measure_errors(const Datum& a, const Datum& b, const Yardstick& yardstick);
/// Number of differing elements in tensors of types that are compared exactly. The structures must be equal.
[[nodiscard]] int64_t count_mismatches(const Datum& a, const Datum& b);

/// A change that would make two different outputs agree, or the place of their difference, in a few words; empty: none found. Absolute
/// differences up to `tolerance` do not count.
[[nodiscard]] std::string hint(const Datum& a, const Datum& b, double tolerance);

}  // namespace relayout
