#pragma once

#include "passes/pass.h"

namespace relayout {

/// Error{usage} when a pattern of --only or --exclude matches no node of the model: it was meant for something.
void check_patterns(const Model& model, const PassOptions& options);

}  // namespace relayout
