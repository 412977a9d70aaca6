#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "exec/ids.h"
#include "exec/lower/group.h"
#include "exec/lower/value_facts.h"
#include "exec/program.h"

namespace relayout::exec {

/// Convolutions of one operand, that operand itself and BatchNormalizations of these, which are added.
struct ConvolutionSum {
  std::vector<NodeId> nodes;           ///< the convolution of the largest window first, then the others in their order
  std::vector<ConvolutionTerm> terms;  ///< of Group
};

/// The sum that `root` ends, if one convolution can compute it: its window holds all others, and their weights, added in double and rounded
/// once, are its weights. As few-branched networks are written out before their branches are merged (RepVGG: arXiv 2101.03697,
/// section 3.3). `maker` gives the node that makes a value which nothing else reads and that is free to be taken; else none.
[[nodiscard]] std::optional<ConvolutionSum> find_convolution_sum(const Program& program, const ValueFacts& facts, NodeId root,
                                                                 const std::function<NodeId(ValueId)>& maker);

}  // namespace relayout::exec
