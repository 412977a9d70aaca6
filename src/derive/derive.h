// Declares the transforms of a loaded model.

#pragma once

#include <string>
#include <vector>

#include "relayout/derive.h"
#include "relayout/model.h"

namespace relayout::derive {

/// Adds the derivative to a model in memory, and simplifies the result. Fills in the names in `result`.
void transform(Model& model, Derivative what, const DeriveOptions& options, DeriveResult& result);

/// The same without simplifying: every weight is read as it is.
void add_derivative(Model& model, Derivative what, const DeriveOptions& options, DeriveResult& result);
/// Removes nodes without readers, and computes constants.
void simplify(Model& model);

}  // namespace relayout::derive
