#pragma once

#include <vector>

#include "passes/pass.h"
#include "relayout/convert.h"

namespace relayout {

/// The passes to run, in running order. Error{usage} for an unknown name, with the nearest known one, and for options that contradict each
/// other.
[[nodiscard]] std::vector<const passes::Pass*> selected_passes(const ConvertOptions& options);

}  // namespace relayout
