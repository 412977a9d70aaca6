// The name of a node in reports: its own, or that of its first output, since many files leave nodes without names.
#include "model/node_name.h"

#include <algorithm>
#include <string>

#include "relayout/graph.h"

namespace relayout {

Value* first_output(const Node& node) noexcept {
  const auto found = std::ranges::find_if(node.outputs(), [](const Value* output) { return output != nullptr; });
  return found != node.outputs().end() ? *found : nullptr;
}

const std::string& reported_name(const Node& node) noexcept {
  const Value* const output = first_output(node);
  return node.name().empty() && output != nullptr ? output->name() : node.name();
}

bool is_called(const Node& node, const std::string& name) noexcept {
  const Value* const output = first_output(node);
  return node.name() == name || (output != nullptr && output->name() == name);
}

}  // namespace relayout
