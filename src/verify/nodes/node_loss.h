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
  std::optional<Quantizer> grid;    ///< that b rounds this value to
  bool is_rounded_by_some = false;  ///< readers in b round it by its own least and largest elements, others may not
  bool takes_rounded = false;       ///< it is made of such values as those readers have them
  bool expected_is_known = false;   ///< everything that b rounds on the way from the values in front is known
  const Node* missing = nullptr;    ///< of a: a function in the place of which b has products, sums and roundings alone
  LossSums measured;
  LossSums rounding;                  ///< of a's node with operands, constants and result rounded, none cut off at the ends of a grid
  LossSums expected;                  ///< the same with operands as b's grids hold them, their ends included: those are upstream's
  LossSums other;                     ///< by which b's node is another than a's with the same operands, constants and ends
  ChannelLosses second{1}, last{-1};  ///< the same by places along the second and along the last axis
  DataType made = DataType::undefined, read = DataType::undefined;  ///< the coarsest types through which it goes in b
  double squares_clipped = 0;                                       ///< Σ of squares that the ends of the grid cut off
  int64_t beyond = 0;                                               ///< elements of a that the grid does not reach
  std::optional<bool> was_fed;                                      ///< as was_fed() found it
};

/// Remark on a loss.
struct Judgement {
  /// In the order of the report: another result, a range that is too small, neither.
  enum class Verdict : uint8_t { other, clipped, right };
  Verdict verdict = Verdict::right;
  double excess = 0;  ///< energy of the fault, relative to the value
};
/// Sets what is expected of a node, and its fault. `has_cut_constant`: a constant that it reads goes beyond the ends of its grid, and a
/// single element of that may be most of what a channel loses.
[[nodiscard]] Judgement judge(const NodeLoss& loss, bool has_cut_constant, QuantizationLoss& one);

}  // namespace relayout
