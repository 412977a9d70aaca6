#pragma once

#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {

/// Nodes and constants of a model in narrow floating-point types.
struct NarrowWork {
  DataType coarsest = DataType::undefined;  ///< undefined: none
  int64_t nodes = 0;                        ///< nodes that round to a narrow type, unlike exact nodes and movers
  int64_t constants = 0;                    ///< of a narrow type, widened by a Cast before use
  int64_t linear = 0, linear_in_all = 0;    ///< convolutions and matrix products among the nodes, and in the whole model
  std::string first;                        ///< label of the first of the nodes, or of the first Cast of a constant
  std::string first_linear;                 ///< label of the first convolution or matrix product among the nodes
};
[[nodiscard]] NarrowWork narrow_work(const Graph& graph);

/// Finds work of b in coarser numbers than a's that the options do not allow. Sets Pair::narrow, quantized and grain (the type whose
/// rounding the bounds allow), and VerifyResult::lossy and remarks.
[[nodiscard]] VerifyFindings find_coarser(Pair& pair, VerifyResult& result);

}  // namespace relayout
