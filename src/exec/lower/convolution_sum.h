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
  std::vector<ConvolutionTerm> terms;  ///< the first is that convolution's
};

/// Whether a node is an Add or Sum whose operands broadcast from their last dims on.
[[nodiscard]] bool is_addition(const ProgramNode& node);
/// Whether a Conv or ConvTranspose has no bias, or one whose contents are known.
[[nodiscard]] bool has_known_bias(const ValueFacts& facts, const ProgramNode& node);

/// The sum that `root` ends, if one convolution can compute it: its window holds all others, and their weights, added in double and rounded
/// once, are its weights. RepVGG and MobileOne are trained with such branches. `maker` gives the node that makes a value
/// which nothing else reads and that is free to be taken; else none.
[[nodiscard]] std::optional<ConvolutionSum> find_convolution_sum(const Program& program, const ValueFacts& facts, NodeId root,
                                                                 const std::function<NodeId(ValueId)>& maker);

}  // namespace relayout::exec
