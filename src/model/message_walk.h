#pragma once

#include <type_traits>

namespace relayout {

/// Calls `visit` for each graph in an attribute (a protobuf message), in the order in which Node numbers them.
template <class Attribute, class Visit>
void for_each_graph_in(Attribute& attribute, const Visit& visit) {
  if constexpr (std::is_const_v<Attribute>) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  } else {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

}  // namespace relayout
