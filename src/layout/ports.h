#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "layout/layout_graph.h"

namespace relayout::layout {

/// The order of each operand and result of a node when it does not run contiguous. Absent ports, and those without an order, are
/// contiguous.
struct Ports {
  std::vector<AxisOrder> inputs, outputs;
};

/// One operand or result that has an order, or is to have it.
struct NodePort {
  bool is_output = false;
  std::size_t index = 0;
};

/// Why a node cannot adopt an order.
using Barrier = std::string;

/// All ports of a node when one of them is in `order`, or why it cannot be, by operator: elementwise operators take any order, an axis is
/// logical, views map the order by strides.
[[nodiscard]] std::variant<Ports, Barrier> ports_of(const LayoutGraph& graph, const LayoutNode& node, NodePort port,
                                                    const AxisOrder& order);
/// The ports of an operator that is faster in channels-last (convolutions), or nothing.
[[nodiscard]] std::optional<Ports> wanted_ports(const LayoutGraph& graph, const LayoutNode& node);
/// Whether a node reads an operand's elements, not only its type and dims.
[[nodiscard]] bool reads_elements(const LayoutNode& node, std::size_t input);
/// Whether results are the first operand, or parts of it, under other strides.
[[nodiscard]] bool is_view(const LayoutNode& node);

}  // namespace relayout::layout
