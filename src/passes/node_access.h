#pragma once

#include "relayout/graph.h"

namespace relayout::passes {

/// The node with write access: matchers only read, the code that applies their rewrites writes.
[[nodiscard]] Node& writable(const Node& node);

}  // namespace relayout::passes
