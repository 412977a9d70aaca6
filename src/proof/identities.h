#pragma once

#include "proof/side.h"

namespace relayout::proof {

/// Whether the node passes its first input unchanged to its first output: Identity, Dropout that does not drop, Transpose that moves
/// nothing, Concat, Sum, Max, Min, Mean of one operand, Cast to the operand's own type.
[[nodiscard]] bool is_identity(Side& side, Ref output);

}  // namespace relayout::proof
