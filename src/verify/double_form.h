// Declares a model's form in double precision.

#pragma once

#include "relayout/model.h"

namespace relayout {

/// Lets a model in memory compute in double precision: weights, constants, declared types, and casts to types of floating point. To be run
/// in Mode::reference, whose kernels take all types.
void compute_in_double(Model& model);

}  // namespace relayout
