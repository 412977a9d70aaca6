// Finds differences within nested graphs and functions that no sample enters, and tells whether other inputs could enter them.

#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/compare_nodes.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

using Graphs = std::unordered_set<const Graph*>;

/// Whether the file alone decides which graphs a node enters: a graph that it does not enter never counts.
bool is_decided(const Node& holder) {
  Constants constants;
  const auto is_fixed = [&](const Value* value) { return value == nullptr || constants.is_constant(*value); };
  return (holder.is("If") || holder.is("Loop")) && is_fixed(holder.input(0)) && (holder.is("If") || is_fixed(holder.input(1)));
}

/// Whether a graph, or one around it, is of an If within a graph of another If of the same condition, and on the other side.
bool is_contradicted(const Graph& graph) {
  const Node* const holder = graph.owner();
  if (holder == nullptr) return false;
  if (!holder->is("If")) return is_contradicted(holder->graph());
  const bool is_then = holder->subgraph("then_branch") == &graph;
  for (const Graph* at = &holder->graph(); at->owner() != nullptr; at = &at->owner()->graph()) {
    const Node& outer = *at->owner();
    if (outer.is("If") && outer.input(0) == holder->input(0) && (outer.subgraph("then_branch") == at) != is_then) return true;
  }
  return is_contradicted(holder->graph());
}

/// The node of this one's operator and first output, or else of its name; nullptr: none. Nodes without a name have the same one.
const Node* find_like(const NamedNodes& nodes, const Node& like) {
  const auto first = [&](const std::string& name) {
    const auto of_name = nodes.of(name);
    const auto found = std::ranges::find(of_name, like.op_type(), &Node::op_type);
    return found == of_name.end() ? nullptr : *found;
  };
  const Value* const output = first_output(like);
  const Node* const by_output = output == nullptr ? nullptr : first(output->name());
  return by_output != nullptr ? by_output : first(like.name());
}

/// The nested graphs of a model, and which of them the samples enter.
class NestedGraphs {
 public:
  NestedGraphs(const Side& side, Evidence& evidence) : side_(side), evidence_(evidence), functions_(*side.model) {
    for_each_node(*side.model, [&](const Node& node) {
      for (const auto& graph : node.subgraphs()) holders_.emplace(graph.get(), &node);
      if (const Graph* const function = functions_.called_by(node)) holders_.emplace(function, &node);
    });
  }

  [[nodiscard]] bool any() const noexcept { return !holders_.empty(); }
  /// Whether a node of this name is in a nested graph or function that no sample enters, and none is in the main graph; whether such graphs
  /// alone read a constant of this name. For an entry about whole graphs, whether the node holds such a graph.
  [[nodiscard]] bool is_unentered(const Unexplained& entry, const NamedNodes& other) {
    const auto may_count = [&](const Graph& graph) { return may_enter(graph, other) && !evidence_.enters(side_, graph); };
    if (is_stored(entry))
      return std::ranges::any_of(constants_of(entry.name), [&](const Value* value) { return is_read_by(*value, may_count); });
    Graphs graphs;
    bool is_in_main = false;
    for (const Node* const node : evidence_.named(side_).of(entry.name)) {
      if (entry.kind == Unexplained::Kind::graph) {
        for (const auto& graph : node->subgraphs()) graphs.insert(graph.get());
      } else if (holders_.contains(&node->graph())) {
        graphs.insert(&node->graph());
      } else {
        is_in_main = true;
      }
    }
    return !is_in_main && std::ranges::any_of(graphs, [&](const Graph* graph) { return may_count(*graph); });
  }

 private:
  /// Whether other inputs may enter a graph, and the other model has the node that holds it.
  [[nodiscard]] bool may_enter(const Graph& graph, const NamedNodes& other) {
    const auto holder = holders_.find(&graph);
    if (holder == holders_.end() || is_contradicted(graph)) return false;
    const Graph& outer = holder->second->graph();
    if (is_decided(*holder->second)) return !evidence_.enters(side_, outer) && may_enter(outer, other);
    return find_like(other, *holder->second) != nullptr;
  }

  /// The constants of a name, in all graphs.
  [[nodiscard]] std::vector<const Value*> constants_of(const std::string& name) {
    std::vector<const Value*> out;
    const auto add = [&](const Value* value) {
      if (value != nullptr && value->name() == name && constants_.is_constant(*value)) out.push_back(value);
    };
    for_each_node(
        *side_.model, [&](const Node& node) { std::ranges::for_each(node.outputs(), add); },
        [&](const Graph& graph) {
          for (const Initializer& initializer : graph.initializers()) add(initializer.value);
        });
    return out;
  }

  /// Whether every node that computes with a constant is in a graph of this kind. Nodes in between read constants alone, or call functions.
  template <class IsOne>
  [[nodiscard]] bool is_read_by(const Value& constant, const IsOne& is_one) {
    return !constant.uses().empty() && std::ranges::all_of(constant.uses(), [&](const Use& use) {
      if (is_one(use.node->graph())) return true;
      if (functions_.called_by(*use.node) != nullptr) {
        const Value* const inner = receiver_of(*use.node, as_size(use.index), functions_);
        return inner != nullptr && is_read_by(*inner, is_one);
      }
      const Value* const result = first_output(*use.node);
      return result != nullptr && constants_.is_constant(*result) && is_read_by(*result, is_one);
    });
  }

  const Side& side_;
  Evidence& evidence_;
  Functions functions_;
  std::unordered_map<const Graph*, const Node*> holders_;
  Constants constants_;
};

/// Whether an entry is about nodes, or about a constant that differs by more than rounding to the type that B computes in.
bool counts_unentered(const Unexplained& entry, const Pair& pair) {
  if (!is_stored(entry)) return entry.kind != Unexplained::Kind::interface;
  if (entry.values == 0) return false;
  return pair.grain == DataType::undefined ? entry.largest > thresholds::kRoundedConstantDifference
                                           : entry.beyond_half > thresholds::kGainInRoundings * unit_roundoff(pair.grain);
}

}  // namespace

VerifyFindings find_unentered_graphs(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  NestedGraphs in_a(pair.a, evidence), in_b(pair.b, evidence);
  VerifyFindings out;
  if (!in_a.any() && !in_b.any()) return out;
  const NamedNodes &of_a = evidence.named(pair.a), &of_b = evidence.named(pair.b);
  for (const Unexplained& entry : evidence.unexplained()) {
    if (!counts_unentered(entry, pair) || !(entry.in_first ? in_a.is_unentered(entry, of_b) : in_b.is_unentered(entry, of_a))) continue;
    out.push_back({.text = unreached(entry), .node = entry.name});
  }
  return out;
}

}  // namespace relayout
