#pragma once

#include <cstdint>
#include <vector>

#include "proof/side.h"

namespace relayout::proof {

/// Whether the node passes its first input unchanged to its first output: Identity, Dropout that does not drop, Transpose that moves
/// nothing, Concat, Sum, Max, Min, Mean of one operand, Cast to the operand's own type.
[[nodiscard]] bool is_identity(Side& side, Ref output);

/// `perm` of a Transpose if it is written out and does not come from the caller of an unknown function; else empty.
[[nodiscard]] std::vector<int64_t> written_permutation(const Node& node, const Call* call);

/// The value upstream of two Transposes that cancel, with the two nodes appended to `nodes`; empty if another kind of node produces `ref`.
[[nodiscard]] Ref upstream_of_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes);

}  // namespace relayout::proof
