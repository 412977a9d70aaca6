#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proof/side.h"

namespace relayout::proof {

/// Whether two nodes name the same operator (domain, name, overload).
[[nodiscard]] bool same_operator(const Node& a, const Node& b);

/// Names of the attributes in which the nodes that make two values differ, tensors compared by their elements. An attribute that is left
/// out stands for the default of its operator's version, if there is one. Nested graphs are not looked at, except that both must have
/// them under the same names. `ignored` is an attribute that may differ.
[[nodiscard]] std::vector<std::string> different_attributes(Side& side_a, Ref a, Side& side_b, Ref b, std::string_view ignored = {});
/// `perm` of a Transpose where it is written out and does not come from the caller of an unknown function; else empty.
[[nodiscard]] std::vector<int64_t> written_permutation(const Node& node, const Call* call);

/// The value that a Transpose of a Transpose gives back unchanged, the two nodes appended to `nodes`; nothing when `ref` is made otherwise.
[[nodiscard]] Ref behind_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes);

}  // namespace relayout::proof
