#pragma once

#include <string>

#include "relayout/graph.h"

namespace relayout::passes {

/// The name a node goes by in findings, --only and --exclude: its own, or its first output's.
[[nodiscard]] const std::string& name_in_findings(const Node& node);
/// The node for changing it: matchers only read, what applies their rewrites writes.
[[nodiscard]] Node& writable(const Node& node);

}  // namespace relayout::passes
