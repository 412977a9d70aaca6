#pragma once

#include <string>
#include <vector>

namespace relayout::exec {

struct ProgramNode;

/// "call › node"
[[nodiscard]] std::string full_name(const std::vector<std::string>& callers, const std::string& name);
/// Names of the calls whose bodies a node comes from, the outermost first.
[[nodiscard]] std::vector<std::string> callers_of(const ProgramNode& node);

}  // namespace relayout::exec
