// Walks over a graph's nodes with those of nested graphs and functions, forwards or backwards, and over the values that nested graphs
// capture.
#pragma once

#include <concepts>
#include <iterator>
#include <memory>
#include <type_traits>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// Whether the graphs nested in a node are visited after the node or before it.
enum class Nested { after, before };

template <class Type>
concept AnyGraph = std::same_as<std::remove_const_t<Type>, Graph>;
template <class Type>
concept AnyModel = std::same_as<std::remove_const_t<Type>, Model>;

/// Calls `visit` for each node of a graph and of the graphs nested in it, in node order, and `enter` for each graph before its nodes. Nodes
/// may be edited, but not inserted or erased.
template <Nested kNested = Nested::after, AnyGraph Any, class Visit, class Enter>
void for_each_node(Any& graph, const Visit& visit, const Enter& enter) {
  enter(graph);
  for (auto& node : graph.nodes()) {
    if constexpr (kNested == Nested::after) visit(node);
    for (const std::unique_ptr<Graph>& inner : node.subgraphs()) for_each_node<kNested>(static_cast<Any&>(*inner), visit, enter);
    if constexpr (kNested == Nested::before) visit(node);
  }
}

template <Nested kNested = Nested::after, AnyGraph Any, class Visit>
void for_each_node(Any& graph, const Visit& visit) {
  for_each_node<kNested>(graph, visit, [](const Graph&) {});
}

/// As above, for a model: its main graph, then its functions.
template <Nested kNested = Nested::after, AnyModel Any, class Visit, class Enter>
void for_each_node(Any& model, const Visit& visit, const Enter& enter) {
  using Found = std::conditional_t<std::is_const_v<Any>, const Graph, Graph>;
  for_each_node<kNested>(model.graph(), visit, enter);
  for (const std::unique_ptr<Graph>& function : model.functions()) for_each_node<kNested>(static_cast<Found&>(*function), visit, enter);
}

template <Nested kNested = Nested::after, AnyModel Any, class Visit>
void for_each_node(Any& model, const Visit& visit) {
  for_each_node<kNested>(model, visit, [](const Graph&) {});
}

/// Calls `visit` for each node from the last to the first; nodes of nested graphs come before the node with these graphs. `visit` may erase
/// only the node that it is given.
template <class Visit>
void for_each_node_backwards(Graph& graph, const Visit& visit) {
  for (auto next = graph.nodes().end(); next != graph.nodes().begin();) {
    const auto at = std::prev(next);
    Node& node = *at;
    for (const std::unique_ptr<Graph>& inner : node.subgraphs()) for_each_node_backwards(*inner, visit);
    visit(node);
    if (!node.erased()) next = at;
  }
}

/// Calls `visit` for a graph and the graphs nested in it, in node order, each after (or before) those nested in it.
template <Nested kNested = Nested::after, AnyGraph Any, class Visit>
void for_each_graph(Any& graph, const Visit& visit) {
  if constexpr (kNested == Nested::after) visit(graph);
  for (auto& node : graph.nodes()) {
    for (const std::unique_ptr<Graph>& inner : node.subgraphs()) for_each_graph<kNested>(static_cast<Any&>(*inner), visit);
  }
  if constexpr (kNested == Nested::before) visit(graph);
}

/// Whether `holds` for each node of a graph and of the graphs nested in it; stops at the first for which it does not.
template <class Holds>
[[nodiscard]] bool all_of_nodes(const Graph& graph, const Holds& holds) {
  for (const Node& node : graph.nodes()) {
    if (!holds(node)) return false;
    for (const std::unique_ptr<Graph>& inner : node.subgraphs()) {
      if (!all_of_nodes(*inner, holds)) return false;
    }
  }
  return true;
}

/// Calls `visit` for each value from outside of `around` that `graph` uses or names as an output, once per occurrence. `graph` is `around`
/// or nested in it.
template <class Visit>
void for_each_capture(const Graph& graph, const Graph& around, const Visit& visit) {
  const auto look_at = [&](Value* value) {
    if (value == nullptr) return;
    for (const Graph* scope = &graph; scope != around.outer(); scope = scope->outer()) {
      if (&value->graph() == scope) return;
    }
    visit(*value);
  };
  for (const Node& node : graph.nodes()) {
    for (Value* const input : node.inputs()) look_at(input);
    for (const std::unique_ptr<Graph>& inner : node.subgraphs()) for_each_capture(*inner, around, visit);
  }
  for (Value* const output : graph.outputs()) look_at(output);
}

/// Calls `visit` for each value that the graphs nested in a node capture, once per occurrence.
template <class Visit>
void for_each_capture(const Node& node, const Visit& visit) {
  for (const std::unique_ptr<Graph>& nested : node.subgraphs()) for_each_capture(*nested, *nested, visit);
}

/// Calls `visit` for each value that a node reads: its operands, then those that the graphs nested in it capture.
template <class Visit>
void for_each_read(const Node& node, const Visit& visit) {
  for (Value* const input : node.inputs()) {
    if (input != nullptr) visit(*input);
  }
  for_each_capture(node, visit);
}

/// Whether `holds` for one of the values that a node reads.
template <class Holds>
[[nodiscard]] bool any_read(const Node& node, const Holds& holds) {
  bool found = false;
  for_each_read(node, [&](const Value& value) { found = found || holds(value); });
  return found;
}

/// The node of the outermost graph that a node belongs to: the node itself, or the one that holds its graph.
[[nodiscard]] inline const Node& outermost(const Node& node) {
  const Node* at = &node;
  while (at->graph().outer() != nullptr) at = at->graph().owner();
  return *at;
}

}  // namespace relayout
