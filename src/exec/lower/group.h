// Group: the nodes that are lowered as one step, with nodes downstream of a Concat and the terms of a sum of convolutions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/ids.h"
#include "exec/program.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A term of a sum: a Conv of the operand that all terms share, or that operand itself, with or without a BatchNormalization; or a
/// constant.
struct ConvolutionTerm {
  const ProgramNode* convolution = nullptr;  ///< null: the operand itself
  const ProgramNode* affine = nullptr;       ///< null: none
  Dims first = {};                           ///< position of its window in the window of the sum, per spatial dim
  ValueId constant = ValueId::none;          ///< of one element, or one per channel
};

/// Nodes that are lowered together; the first is the anchor. Intermediate results are read within the group alone: by the next node, except
/// in functions written out in several nodes (x · f(x) reads x twice: gated_stage_of, is_library_gelu) and in sums.
struct Group {
  std::vector<const ProgramNode*> nodes;
  /// Nodes downstream of a Concat of channels, which this group computes for its own channels, those from `first_channel` on. The output of
  /// its last node then holds the result of the last of these.
  std::vector<const ProgramNode*> downstream = {};
  int64_t first_channel = 0;
  bool in_parts = false;  ///< a Concat whose downstream nodes are computed by the groups of its operands
  /// Convolutions of one operand whose results are added, computed as one convolution: the anchor, whose window contains those of the
  /// others, with the sum of their weights. The first term is the anchor's; empty: the anchor alone.
  std::vector<ConvolutionTerm> terms = {};
  std::size_t summed = 1;  ///< number of nodes, from the first on, that compute that sum
  [[nodiscard]] const ProgramNode& anchor() const { return *nodes.front(); }
  [[nodiscard]] const ProgramNode& last() const { return *nodes.back(); }
  /// Result of the group; an anchor without further nodes may have more outputs.
  [[nodiscard]] ValueId output() const { return last().output(0); }
};

}  // namespace relayout::exec
