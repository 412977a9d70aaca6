#pragma once

#include "ops/kernels/kernels.h"

namespace relayout::kernels {

// twice.cpp
InferFunction infer_twice;
ComputeFunction twice;

}  // namespace relayout::kernels
