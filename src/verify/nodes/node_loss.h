#pragma once

#include <cstdint>
#include <optional>

#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/nodes/channel_losses.h"
#include "verify/quantizer.h"

namespace relayout {

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
