#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "relayout/tensor.h"

namespace relayout {

/// Sums of squares of a value's loss for each index along one axis: a fault of one channel is small beside the loss of all channels.
class ChannelLosses {
 public:
  /// A negative `axis` counts from the end.
  explicit ChannelLosses(int64_t axis) : axis_(axis) {}

  /// Cost of rounding: the original's value, and the result of its nodes from rounded operands.
  void add_expected(const Tensor& reference, const Tensor& rounded);
  /// The correct result for the operands of the other model's nodes, and their actual result.
  void add_result(const Tensor& right, const Tensor& made);

  struct Fault {
    std::size_t channel = 0;
    double squares = 0;  ///< Σ of squares of the difference
  };
  /// The channel with the largest error among those that compute something else. Rounding may change the scale of results by up to `gain`.
  [[nodiscard]] std::optional<Fault> worst(double gain) const;

 private:
  struct Sums {
    double expected = 0, right = 0, product = 0, other = 0;  ///< Σ of squares; `product`: Σ of products of both results
    int64_t elements = 0;
  };
  /// Calls add(sums, x, y) for each pair of finite elements. False where the axis is the first or does not exist, there are fewer than two
  /// channels, samples differ in their number, or the type is not measured.
  template <class Add>
  bool for_each(const Tensor& a, const Tensor& b, const Add& add);
  [[nodiscard]] static bool is_other(const Sums& sums, double lost, double least_gain);

  int64_t axis_;
  bool is_void_ = false;
  std::vector<Sums> sums_;  ///< by channel
};

}  // namespace relayout
