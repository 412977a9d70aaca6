#pragma once

#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Compares the interface to callers: graph inputs (without initialized ones of IR 3, which no caller can set) and outputs by name, order,
/// type, rank and dims. An output dim that only `b` declares is no difference, nor, `across_types`, are float32 and types of 16 bits.
[[nodiscard]] std::vector<Unexplained> compare_interfaces(const Model& a, const Model& b, bool across_types = false);
/// The graph inputs that a caller sees.
[[nodiscard]] std::vector<const Value*> callers_inputs(const Model& model);
/// Inputs of `a` with a default that are no inputs of `b`, where the default is a constant.
[[nodiscard]] std::vector<const Value*> frozen_inputs(const Model& a, const Model& b);

}  // namespace relayout::proof
