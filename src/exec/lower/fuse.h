#pragma once

#include <vector>

#include "exec/layout_guide.h"
#include "exec/lower/group.h"
#include "exec/lower/value_facts.h"

namespace relayout::exec {

/// The nodes as groups in running order, one node per group.
[[nodiscard]] std::vector<Group> single_groups(const Program& program, const std::vector<NodeId>& nodes);
/// The nodes as groups in running order: convolutions, products and elementwise operators together with the nodes that are their only
/// consumers. A group runs at the position of its last node, and in one layout.
[[nodiscard]] std::vector<Group> fused_groups(const Program& program, const std::vector<NodeId>& nodes, const ValueFacts& facts,
                                              const LayoutGuide& guide);

}  // namespace relayout::exec
