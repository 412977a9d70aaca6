#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace onnx {
class FunctionProto;
}

namespace relayout {

/// Whether a node names this function: by domain, name and overload.
[[nodiscard]] bool calls(const Node& node, const onnx::FunctionProto& function);

/// The functions of a model by domain, name and overload. Valid as long as no function is erased.
class Functions {
 public:
  explicit Functions(const Model& model);
  /// The function that a node calls, or nullptr.
  [[nodiscard]] const Graph* called_by(const Node& node) const;
  /// The first function with the domain, name and overload of this one, or nullptr.
  [[nodiscard]] const Graph* like(const onnx::FunctionProto& function) const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, const Graph*, std::less<>> functions_;
};

/// The value inside a node that receives operand `index`: an input of the function that it calls, or of the body of a Loop or Scan;
/// nullptr: none. (Graphs of an If capture what they read.)
[[nodiscard]] const Value* receiver_of(const Node& node, std::size_t index, const Functions& functions);

/// Whether `holds` for a node, or for one in the graphs and functions that it runs.
template <class Holds>
[[nodiscard]] bool any_node_run(const Node& node, const Functions& functions, const Holds& holds) {
  std::vector<const Node*> open{&node};
  std::unordered_set<const Graph*> seen;
  const auto enter = [&](const Graph& graph) {
    if (!seen.insert(&graph).second) return;
    for (const Node& inner : graph.nodes()) open.push_back(&inner);
  };
  while (!open.empty()) {
    const Node& at = *open.back();
    open.pop_back();
    if (holds(at)) return true;
    for (const std::unique_ptr<Graph>& graph : at.subgraphs()) enter(*graph);
    if (const Graph* const function = functions.called_by(at)) enter(*function);
  }
  return false;
}

}  // namespace relayout
