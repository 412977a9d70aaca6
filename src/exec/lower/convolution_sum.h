#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "exec/ids.h"
#include "exec/lower/group.h"
#include "exec/lower/value_facts.h"
#include "exec/program.h"

namespace relayout::exec {

/// A sum of convolutions of one operand, of that operand itself, and of BatchNormalizations of these.
struct ConvolutionSum {
  std::vector<NodeId> nodes;           ///< the convolution of the largest window first, then the others in their order
  std::vector<ConvolutionTerm> terms;  ///< the first is that of the first convolution
};

/// Whether a node is an Add or Sum whose operands broadcast from their last dims on.
[[nodiscard]] bool is_addition(const ProgramNode& node);
/// Whether a Conv or ConvTranspose has no bias, or one whose contents are known.
[[nodiscard]] bool has_known_bias(const ValueFacts& facts, const ProgramNode& node);

/// The sum that ends in `root`, if one convolution can compute it: its window contains all others, and its weights are the sum of theirs,
/// added in double and rounded once. RepVGG and MobileOne are trained with such branches. `maker` returns the free producer of a value
/// whose single consumer is free too; else none.
[[nodiscard]] std::optional<ConvolutionSum> find_convolution_sum(const Program& program, const ValueFacts& facts, NodeId root,
                                                                 const std::function<NodeId(ValueId)>& maker);

}  // namespace relayout::exec
