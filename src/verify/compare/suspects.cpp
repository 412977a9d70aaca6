// Places each difference that the proof leaves unexplained at the nodes that compute with it.
#include "verify/compare/suspects.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/walk.h"
#include "ops/element_types.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/compare/pairing.h"

namespace relayout {
namespace {

/// The node of the main graph that a node belongs to: the node itself, or the one that holds its graph; nullptr for a node of a function.
const Node* in_main_graph(const Node& node) {
  const Node* at = &node;
  while (at != nullptr && at->graph().outer() != nullptr) at = at->graph().owner();
  return at == nullptr || at->graph().is_function() ? nullptr : at;
}

/// Nodes that compute with a constant, and nodes in between that read constants alone (a Transpose, a Cast, a DequantizeLinear).
std::vector<const Node*> readers_of(const Value& constant) {
  std::vector<const Node*> readers;
  std::vector<const Value*> pending{&constant};
  std::unordered_set<const Value*> constants{&constant};
  std::unordered_set<const Node*> seen;
  const auto is_known = [&](const Value* value) { return value == nullptr || constants.contains(value) || value->is_stored_constant(); };
  while (!pending.empty()) {
    const Value* const at = pending.back();
    pending.pop_back();
    for (const Use& use : at->uses()) {
      const bool constant_node = use.node->subgraphs().empty() && std::ranges::all_of(use.node->inputs(), is_known);
      if (!constant_node) {
        readers.push_back(use.node);
      } else if (seen.insert(use.node).second) {
        readers.push_back(use.node);  // its result may be paired
        for (const Value* const output : use.node->outputs()) {
          if (output != nullptr && constants.insert(output).second) pending.push_back(output);
        }
      }
    }
  }
  return readers;
}

}  // namespace

Suspects::Suspects(const ProofResult& proof, const Graph& a, const Graph& b) {
  const Names of_a = names_of(a), of_b = names_of(b);
  OpSignatures signatures;
  for (const Graph* const graph : {&a, &b}) {
    const ElementTypes types(*graph, signatures);
    for (const Node& node : graph->nodes()) {
      if (widens(node, types) && node.input(0)->producer() != nullptr) narrow_makers_.emplace(&node, node.input(0)->producer());
    }
  }
  for (std::size_t i = 0; i < proof.unexplained.size(); ++i) {
    const Unexplained& entry = proof.unexplained[i];
    if (entry.kind != Unexplained::Kind::interface) add(i, entry, entry.in_first ? of_a : of_b);
  }
  for (const std::string& output : proof.unreached) {
    const Value* const value = b.find(output);
    for (const Node* node = value == nullptr ? nullptr : value->producer(); node != nullptr; node = narrow_maker(*node)) {
      unreached_.insert(node);
    }
  }
}

Suspects::Names Suspects::names_of(const Graph& graph) {
  Names names;
  const auto add_initializers = [&](const Graph& entered) {
    for (const Initializer& initializer : entered.initializers()) names.values.emplace(initializer.value->name(), initializer.value);
  };
  const auto add_node = [&](const Node& node) {
    if (!node.name().empty()) names.nodes.emplace(node.name(), &node);
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) names.values.emplace(output->name(), output);
    }
  };
  for_each_node(graph.model(), add_node, add_initializers);
  return names;
}

void Suspects::add(std::size_t entry, const Unexplained& unexplained, const Names& names) {
  bool placed = false;
  const auto [first_node, last_node] = names.nodes.equal_range(unexplained.name);
  for (auto at = first_node; at != last_node; ++at) {
    add_reader(entry, *at->second);
    placed = true;
  }
  const auto [first_value, last_value] = names.values.equal_range(unexplained.name);
  for (auto at = first_value; at != last_value; ++at) {
    const Value& value = *at->second;
    placed = true;
    if (value.producer() != nullptr) add_reader(entry, *value.producer());
    if (!value.is_stored_constant()) continue;
    for (const Node* const reader : readers_of(value)) add_reader(entry, *reader);
  }
  if (!placed || unexplained.kind == Unexplained::Kind::graph) everywhere_.push_back(entry);
}

void Suspects::add_reader(std::size_t entry, const Node& node) {
  const Node* const main = in_main_graph(node);
  if (main == nullptr) {
    // Of a function: any node of the main graph may call it.
    if (everywhere_.empty() || everywhere_.back() != entry) everywhere_.push_back(entry);
    return;
  }
  for (const Node* at = main; at != nullptr; at = narrow_maker(*at)) {
    Entries& entries = by_node_[at];
    if (entries.empty() || entries.back() != entry) entries.push_back(entry);
  }
}

const Node* Suspects::narrow_maker(const Node& node) const {
  const auto found = narrow_makers_.find(&node);
  return found == narrow_makers_.end() ? nullptr : found->second;
}

Suspects::Entries Suspects::of(const std::vector<const Node*>& nodes) const {
  Entries out = everywhere_;
  for (const Node* const node : nodes) {
    if (const auto found = by_node_.find(node); found != by_node_.end()) out.insert(out.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Suspects::are_unreached(const std::vector<const Node*>& nodes) const {
  return std::ranges::any_of(nodes, [&](const Node* node) { return unreached_.contains(node); });
}

const Node* Suspects::last_of(const std::vector<const Node*>& nodes, bool (*is_wanted)(const Node&)) const {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (by_node_.contains(nodes[i]) && is_wanted(*nodes[i])) return nodes[i];
  }
  return nullptr;
}

}  // namespace relayout
