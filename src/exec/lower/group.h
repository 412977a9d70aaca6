#pragma once

#include <vector>

#include "exec/program.h"

namespace relayout::exec {

/// Nodes that become one piece of work: the first is the anchor, each next one is the only reader of its predecessor's output.
struct Group {
  std::vector<const ProgramNode*> nodes;
  [[nodiscard]] const ProgramNode& anchor() const { return *nodes.front(); }
  [[nodiscard]] const ProgramNode& last() const { return *nodes.back(); }
  /// Result of the group, unless the anchor stands alone and makes more.
  [[nodiscard]] ValueId output() const { return last().output(0); }
};

}  // namespace relayout::exec
