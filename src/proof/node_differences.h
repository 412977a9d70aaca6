#pragma once

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

}  // namespace relayout::proof
