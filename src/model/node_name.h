#pragma once

#include <string>

#include "relayout/graph.h"

namespace relayout {

/// The first output that is present; nullptr if there is none.
[[nodiscard]] Value* first_output(const Node& node) noexcept;
/// The name of a node in findings, diff, layout, profile and verify, and in --only and --exclude: its own, or that of its first present
/// output if it has none.
[[nodiscard]] const std::string& reported_name(const Node& node) noexcept;
/// Whether a report may mean this node by `name`: it is the node's own name, or that of its first present output.
[[nodiscard]] bool is_called(const Node& node, const std::string& name) noexcept;

}  // namespace relayout
