#pragma once

#include <cstdint>
#include <limits>

#include "relayout/datum.h"

namespace relayout {

/// Range and spread of the finite elements of one output of the reference over one sample: errors are relative to them.
class Yardstick {
 public:
  void add(const Datum& reference);
  [[nodiscard]] int64_t count() const noexcept { return count_; }  ///< finite elements
  /// All elements but NaN are one finite number.
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
  double shift_ = 0, sum_ = 0, squares_ = 0;  ///< sums over value − shift_; shift_: the first value
  int64_t count_ = 0;
  bool has_infinite_ = false;
};

}  // namespace relayout
