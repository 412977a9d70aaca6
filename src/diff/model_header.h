#pragma once

#include <vector>

#include "relayout/model.h"
#include "relayout/model_diff.h"

namespace relayout {

/// Compares graph inputs and outputs by name, and the remaining ones by place if all their types agree.
[[nodiscard]] std::vector<ModelChange> diff_interfaces(const Model& a, const Model& b);
/// Compares the facts of a model apart from its graph: versions, operator sets, producer, descriptions, metadata, functions. `is_proved`:
/// the graphs compute the same, whatever operator sets and functions they use.
[[nodiscard]] std::vector<ModelChange> diff_headers(const Model& a, const Model& b, bool is_proved);

}  // namespace relayout
