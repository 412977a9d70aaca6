#pragma once

#include <vector>

#include "exec/layout_guide.h"
#include "exec/lower/group.h"
#include "exec/lower/value_facts.h"

namespace relayout::exec {

/// The nodes as groups in running order, each on its own.
[[nodiscard]] std::vector<Group> single_groups(const Program& program, const std::vector<NodeId>& nodes);
/// The nodes as groups in running order: convolutions, products and elementwise operators together with what follows them and
/// has no other reader. A group runs where its last node stands, and in one layout.
[[nodiscard]] std::vector<Group> fused_groups(const Program& program, const std::vector<NodeId>& nodes, const ValueFacts& facts,
                                              const LayoutGuide& guide);

}  // namespace relayout::exec
