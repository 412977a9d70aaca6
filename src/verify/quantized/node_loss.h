#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/quantizer.h"

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

/// Loss of one node of a quantized model, and the cost of its rounding.
struct NodeLoss {
  std::optional<Quantizer> grid;    ///< of this value in b
  bool is_rounded_by_some = false;  ///< some consumers in b round it by its own least and largest elements
  bool takes_rounded = false;       ///< computed from values as such consumers round them
  bool expected_is_known = false;   ///< all roundings in b between the fed values upstream and this value are known
  const Node* missing = nullptr;    ///< of a: a function that b replaces with products, sums and roundings alone
  LossSums measured;
  LossSums rounding;                  ///< of a's node with operands, constants and result rounded, not cut off at the ends of a grid
  LossSums expected;                  ///< as `rounding`, but with operands cut off at the ends of b's grids: that loss is upstream's
  LossSums other;                     ///< difference of b's node from a's with the same operands, constants and ends
  ChannelLosses second{1}, last{-1};  ///< `rounding` and `other` by index along the second and along the last axis
  DataType made = DataType::undefined, read = DataType::undefined;  ///< coarsest types in which b computes and reads it
  double squares_clipped = 0;                                       ///< Σ of squares that the ends of the grid cut off
  int64_t beyond = 0;                                               ///< elements of a beyond the ends of the grid
  std::optional<bool> was_fed;                                      ///< result of was_fed()
};

/// Remark on a loss.
struct Judgement {
  /// In the order of the report: a different result, a range that is too small, neither.
  enum class Verdict : uint8_t { other, clipped, right };
  Verdict verdict = Verdict::right;
  double excess = 0;  ///< energy of the fault, relative to the value
};
/// Sets the expected loss of a node, and its fault. `has_cut_constant`: a constant operand has elements beyond the ends of its grid, a
/// single one of which may cause most of a channel's loss.
[[nodiscard]] Judgement judge(const NodeLoss& loss, bool has_cut_constant, QuantizationLoss& one);

}  // namespace relayout
