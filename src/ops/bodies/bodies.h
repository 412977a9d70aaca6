#pragma once

#include "ops/body.h"

namespace relayout::bodies {

/// What the lines of the table in table.cpp point to, file by file.
using WriteFunction = void(Body& body);

// activation.cpp: an activation that an attribute names, behind a product.
WriteFunction fused_conv, fused_gemm;

// gelu.cpp
WriteFunction gelu, bias_gelu, fast_gelu, quick_gelu;

// matmul.cpp
WriteFunction fused_matmul;

// normalization.cpp
WriteFunction simplified_layer_normalization, skip_layer_normalization, skip_simplified_layer_normalization;

}  // namespace relayout::bodies
