#pragma once

#include <string>

#include "relayout/graph.h"

namespace relayout::passes {

/// The name of a node in findings, --only and --exclude: its own, or its first output's.
[[nodiscard]] const std::string& name_in_findings(const Node& node);
/// The node with write access: matchers only read, the code that applies their rewrites writes.
[[nodiscard]] Node& writable(const Node& node);

}  // namespace relayout::passes
