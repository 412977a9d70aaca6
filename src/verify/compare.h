#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/verify.h"

namespace relayout {

/// The tensors of a datum from left to right; views, nothing is copied.
[[nodiscard]] std::vector<Tensor> leaves(const Datum& datum);
/// Kind, types and dims, e.g. "f32[2, 3]", "sequence of 2: f32[1], f32[4]", "nothing" for an empty optional.
[[nodiscard]] std::string describe(const Datum& datum);
/// What differs in kind, length, type, rank or dims ("sequence of 2, was of 3"); empty when nothing does.
[[nodiscard]] std::string structural_difference(const Datum& a, const Datum& b);
/// Same structure, same bytes.
[[nodiscard]] bool bit_equal(const Datum& a, const Datum& b);

/// Whether a type is compared by distance: floats and complex numbers (their parts). Everything else must be equal.
[[nodiscard]] bool is_measured(DataType type) noexcept;
/// Half an ULP of 1 in this type, the largest relative error of one rounding.
[[nodiscard]] double unit_roundoff(DataType type) noexcept;
/// The error/range below which two results are the same whatever the floor (measured on right pairs: f64 1e-14, f32 2e-7, f16 1e-3, bf16
/// 8e-3).
[[nodiscard]] double dtype_minimum(DataType type) noexcept;

/// Range and spread of the finite elements of one output of the reference over one sample: errors are relative to them.
class Yardstick {
 public:
  void add(const Datum& reference);
  [[nodiscard]] int64_t count() const noexcept { return count_; }  ///< finite elements
  /// All elements are one finite number.
  [[nodiscard]] bool is_constant() const noexcept { return count_ > 0 && minimum_ == maximum_ && !has_infinite_; }
  /// max − min; for a constant the magnitude of its value (1 when that is 0).
  [[nodiscard]] double range() const noexcept;
  /// Standard deviation; for a constant as range().
  [[nodiscard]] double sigma() const noexcept;
  [[nodiscard]] double largest() const noexcept { return largest_; }  ///< max |value|
  [[nodiscard]] double rms() const noexcept;
  [[nodiscard]] double mean() const noexcept { return count_ == 0 ? 0 : shift_ + sum_ / static_cast<double>(count_); }

 private:
  double minimum_ = std::numeric_limits<double>::infinity(), maximum_ = -std::numeric_limits<double>::infinity();
  double largest_ = 0;
  double shift_ = 0, sum_ = 0, squares_ = 0;  ///< of value − shift_, the first value seen
  int64_t count_ = 0;
  bool has_infinite_ = false;
};

struct Distance {
  double max_abs = 0, rms = 0;  ///< largest and RMS difference over the elements that are finite in both
  int64_t apart = 0;            ///< elements that are NaN or infinite in one of both, or infinite with two signs
};
[[nodiscard]] Distance distance(const Datum& a, const Datum& b);

/// Share of elements that lie at the smallest or largest value; 0 for fewer than three elements.
[[nodiscard]] double saturated_share(const Datum& datum);
/// A hash per slice along axis 0 (at most 64), of every tensor: equal hashes in two samples mean that the output does not depend on
/// what differs between them.
[[nodiscard]] std::vector<uint64_t> slice_hashes(const Datum& datum);

/// Σ a · b / √(Σ a² · Σ b²); 1 where both are zero.
[[nodiscard]] double cosine(const LossSums& sums);
/// 10 · log10(Σ a² / Σ (a − b)²) in dB; infinite where nothing differs.
[[nodiscard]] double signal_to_noise(const LossSums& sums);

/// All numbers of one output over one sample that need no floor. The structures must be equal.
[[nodiscard]] SampleMetrics measure(const Datum& a, const Datum& b, const Yardstick& yardstick);
/// Error of two correct evaluations of the original, in the units of SampleMetrics.
struct Floor {
  double max = 0, rms = 0;
};
/// One rounding of a sample's values: no floor is below.
[[nodiscard]] Floor least_floor(DataType type, const Yardstick& sample);
/// A distance in the units of SampleMetrics.
[[nodiscard]] Floor relative(const Distance& apart, const Yardstick& sample);
void widen(Floor& floor, const Floor& other);
/// Whether a floor is so large that a sample which stays within it shows little: see rules::kIllConditioned.
[[nodiscard]] bool is_ill_conditioned(DataType type, const Floor& floor);
/// Sets bounds, ratio and outcome (`same` or `different`, with reason) from the metrics: both the largest error and the RMS count.
void decide(SampleMetrics& metrics, DataType type, const Floor& floor);
/// Number of elements with |a − b| > atol + rtol · |a|, or of which only one is NaN or both are not the same infinity.
[[nodiscard]] int64_t count_beyond(const Datum& a, const Datum& b, double rtol, double atol);

/// Elements that differ, of tensors of types that are compared exactly. The structures must be equal.
[[nodiscard]] int64_t count_mismatches(const Datum& a, const Datum& b);

/// "1.2e-06"
[[nodiscard]] std::string short_number(double value);
/// All digits, for values shown against each other.
[[nodiscard]] std::string exact_number(double value);

}  // namespace relayout
