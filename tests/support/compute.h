#pragma once

#include <map>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/model.h"

namespace relayout::test {

/// Values of the model's outputs, in order, by plain loops that accumulate in double. Inputs with an initializer may be left out.
[[nodiscard]] std::vector<Datum> compute(const Model& model, const std::map<std::string, Datum>& inputs);

}  // namespace relayout::test
