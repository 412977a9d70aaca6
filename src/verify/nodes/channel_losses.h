#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "relayout/tensor.h"

namespace relayout {

/// Sums of squares of what a value loses for each place along one axis: a fault of one channel is small beside the loss of all of them.
class ChannelLosses {
 public:
  /// `axis` counts from the end where it is negative.
  explicit ChannelLosses(int64_t axis) : axis_(axis) {}

  /// Cost of rounding: the original's value, and the result of its nodes from rounded operands.
  void add_expected(const Tensor& reference, const Tensor& rounded);
  /// What the other model's nodes must make of its operands, and what they make.
  void add_result(const Tensor& right, const Tensor& made);

  struct Fault {
    std::size_t channel = 0;
    double squares = 0;  ///< Σ of squares of the difference
  };
  /// Of the channels that compute something else, the one that is furthest off. Up to `gain` rounding may make results larger by a factor.
  [[nodiscard]] std::optional<Fault> worst(double gain) const;

 private:
  struct Sums {
    double expected = 0, right = 0, product = 0, other = 0;  ///< Σ of squares, but for the product of both results
    int64_t elements = 0;
  };
  /// Calls f(sums, x, y) for each pair of finite elements; false where samples differ in the number of channels, or there are none.
  template <class Add>
  bool for_each(const Tensor& a, const Tensor& b, const Add& add);
  [[nodiscard]] static bool is_other(const Sums& sums, double lost, double least_gain);

  int64_t axis_;
  bool is_void_ = false;
  std::vector<Sums> sums_;  ///< by channel
};

}  // namespace relayout
