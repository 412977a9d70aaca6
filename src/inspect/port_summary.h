#pragma once

#include "relayout/graph.h"
#include "relayout/inspect.h"

namespace relayout {

/// The declaration of a graph's input or output.
[[nodiscard]] PortSummary port_summary(const Value& value);

}  // namespace relayout
