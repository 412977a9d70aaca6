#pragma once

#include <vector>

#include "relayout/model.h"
#include "relayout/model_diff.h"

namespace relayout {

/// Graph inputs and outputs, by name, and where all names that are left are gone by place.
[[nodiscard]] std::vector<ModelChange> diff_interfaces(const Model& a, const Model& b);
/// What stands in a model beside its graph: versions, operator sets, producer, descriptions, metadata, functions. `is_proved`: the graphs
/// compute the same, whatever operator sets and functions they use.
[[nodiscard]] std::vector<ModelChange> diff_headers(const Model& a, const Model& b, bool is_proved);

}  // namespace relayout
