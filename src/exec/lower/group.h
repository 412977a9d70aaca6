#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/ids.h"
#include "exec/program.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A term of a sum: a Conv of the operand that all terms share, or that operand itself, and a BatchNormalization of it; or a constant.
struct ConvolutionTerm {
  const ProgramNode* convolution = nullptr;  ///< null: the operand itself
  const ProgramNode* affine = nullptr;       ///< null: none
  Dims first = {};                           ///< where its window begins in the window of the sum, per spatial dim
  ValueId constant = ValueId::none;          ///< of one element, or one per channel
};

/// Nodes that become one piece of work: the first is the anchor. What each makes is read within the group alone, by the next one but for
/// functions written out in several nodes (x · f(x) reads x twice: gated_stage_of, is_library_gelu) and for sums.
struct Group {
  std::vector<const ProgramNode*> nodes;
  /// Nodes behind a Concat of channels, which this group computes for its own channels, those from `first_channel` on. What it then makes
  /// of its last node's output is what the last of these would have made.
  std::vector<const ProgramNode*> behind = {};
  int64_t first_channel = 0;
  bool in_parts = false;  ///< a Concat whose further nodes the groups of its operands compute
  /// Convolutions of one operand whose results are added, computed as one: the anchor, the window of which holds those of the others, has
  /// the sum of their weights. The first term is the anchor's; empty: the anchor alone.
  std::vector<ConvolutionTerm> terms = {};
  std::size_t summed = 1;  ///< the nodes, from the first on, that make that sum
  [[nodiscard]] const ProgramNode& anchor() const { return *nodes.front(); }
  [[nodiscard]] const ProgramNode& last() const { return *nodes.back(); }
  /// Result of the group, unless the anchor stands alone and makes more.
  [[nodiscard]] ValueId output() const { return last().output(0); }
};

}  // namespace relayout::exec
