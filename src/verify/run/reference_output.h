#pragma once

#include <limits>
#include <utility>

#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout {

/// Range and spread of the finite elements of one output of the reference over one sample: errors are relative to them.
class Yardstick {
 public:
  Yardstick() = default;
  explicit Yardstick(const Datum& reference) { add(reference); }
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

/// Share of finite elements that equal the smallest or largest value; 0 for fewer than three.
[[nodiscard]] double saturated_share(const Datum& datum);
/// A hash for each slice along axis 0 (at most 64) of every tensor. Equal hashes in two samples mean that the output does not depend on the
/// difference between them.
[[nodiscard]] std::vector<uint64_t> slice_hashes(const Datum& datum);

/// Facts about one output of the reference over all samples that it ran.
class ReferenceOutput {
 public:
  /// Facts from the file.
  struct Declared {
    bool may_saturate = false;  ///< false for outputs that have two values by nature
    bool is_empty = false;      ///< never has elements
    bool is_fixed = false;      ///< the model has no inputs: one sample shows every value
  };
  ReferenceOutput() = default;
  ReferenceOutput(std::string name, Declared declared) : name_(std::move(name)), declared_(declared) {}

  /// Adds the values of the next sample.
  void add(const Datum& datum);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DataType type() const noexcept { return type_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }
  /// Whether any element was finite and of a type that is compared by distance.
  [[nodiscard]] bool holds_values() const noexcept { return elements_ > 0 && yardstick_.count() > 0; }
  /// Reason why equal values would prove nothing; nullopt: they prove something. `varied`: inputs differed between samples.
  [[nodiscard]] std::optional<std::string> inconclusive(bool varied) const;

 private:
  std::string name_;
  Declared declared_;
  Yardstick yardstick_;
  DataType type_ = DataType::undefined;
  Dims dims_;
  int64_t elements_ = 0, samples_ = 0, saturated_ = 0;
  double least_saturated_share_ = 1;
  std::vector<uint64_t> first_slices_;
  bool compared_ = false;    ///< two samples had slices to compare
  bool independent_ = true;  ///< all slices compared so far agree
};

}  // namespace relayout
