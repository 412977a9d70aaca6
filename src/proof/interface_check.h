#pragma once

#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// The interface to callers: graph inputs (initialized ones of IR 3, which no caller can set, left out) and outputs by name, order, type,
/// rank and dims. An output dim that is declared in `b` alone is no difference.
[[nodiscard]] std::vector<Unexplained> compare_interfaces(const Model& a, const Model& b);
/// The graph inputs a caller sees.
[[nodiscard]] std::vector<const Value*> callers_inputs(const Model& model);
/// Inputs of `a` with a default that `b` has no more: there the default is a constant.
[[nodiscard]] std::vector<const Value*> frozen_inputs(const Model& a, const Model& b);

}  // namespace relayout::proof
