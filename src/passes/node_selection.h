#pragma once

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

/// Whether --only or --exclude leave this node out.
[[nodiscard]] bool is_excluded(const Node& node, const PassOptions& options);
/// Error{usage} when a pattern of --only or --exclude matches no node of the model.
void check_patterns(const Model& model, const PassOptions& options);

}  // namespace relayout::passes
