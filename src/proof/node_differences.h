#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Whether two nodes name the same operator (domain, name, overload).
[[nodiscard]] bool same_operator(const Node& a, const Node& b);

/// Names of the attributes in which the producers of two values differ, with tensors compared by their elements. An absent attribute has
/// the default of its operator's version, if there is one. Nested graphs are not examined, except that both nodes must have them under the
/// same names. `ignored` is an attribute that may differ.
[[nodiscard]] std::vector<std::string> different_attributes(Side& side_a, Ref a, Side& side_b, Ref b, std::string_view ignored = {});

/// Measures a floating-point attribute that differs, like a constant with one element: its distance from that of the other node. Sizes,
/// axes and texts are not measured.
void measure_number(const Node& a, const Node& b, std::string_view name, Unexplained& entry);

}  // namespace relayout::proof
