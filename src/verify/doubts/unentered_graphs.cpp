// Finds differences within nested graphs and functions that no sample enters, and tells whether other inputs could enter them.
// Neither the outputs nor the node itself can show them.

#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/retyped_graphs.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/rules.h"
#include "verify/run/bounds.h"

namespace relayout {
namespace {

using Graphs = std::unordered_set<const Graph*>;

/// Whether the file alone decides which graphs a node enters: a graph that it does not enter never counts.
bool is_decided(const Node& holder) {
  Constants constants;
  const auto is_fixed = [&](const Value* value) { return value == nullptr || constants.is_constant(*value); };
  return (holder.is("If") || holder.is("Loop")) && is_fixed(holder.input(0)) && (holder.is("If") || is_fixed(holder.input(1)));
}

/// Whether an entry is about elements of a constant.
bool is_stored(const Unexplained& entry) {
  return is_constant(entry) && entry.kind != Unexplained::Kind::attribute;
}

/// A model's node of this one's operator and first output, or else of its name; nullptr: none. Nodes without a name have the same one.
const Node* find_like(const Graph& graph, const Node& like) {
  const Value* const output = first_output(like);
  const Node *by_output = nullptr, *by_name = nullptr;
  for_each_node(graph.model(), [&](const Node& node) {
    if (node.op_type() != like.op_type()) return;
    if (by_output == nullptr && output != nullptr && is_called(node, output->name())) by_output = &node;
    if (by_name == nullptr && is_called(node, like.name())) by_name = &node;
  });
  return by_output != nullptr ? by_output : by_name;
}

/// The nested graphs of a model, and which of them the samples enter.
class NestedGraphs {
 public:
  NestedGraphs(const Side& side, Evidence& evidence, RetypedGraphs* retyped)
      : side_(side), evidence_(evidence), functions_(*side.model), retyped_(retyped) {
    for_each_node(*side.model, [&](const Node& node) {
      for (const auto& graph : node.subgraphs()) holders_.emplace(graph.get(), &node);
      if (const Graph* const function = functions_.called_by(node)) holders_.emplace(function, &node);
    });
  }

  [[nodiscard]] bool any() const noexcept { return !holders_.empty(); }
  /// Whether a node of this name is in a nested graph or function that no sample enters, and none is in the main graph; whether such graphs
  /// alone read a constant of this name. For an entry about whole graphs, whether the node holds such a graph.
  [[nodiscard]] bool is_unentered(const Unexplained& entry, const Graph& other) {
    const auto may_count = [&](const Graph& graph) { return may_enter(graph, other) && !evidence_.enters(side_, graph); };
    if (is_stored(entry))
      return std::ranges::any_of(constants_of(entry.name), [&](const Value* value) { return is_read_by(*value, may_count); });
    Graphs graphs;
    bool is_in_main = false;
    for_each_node(*side_.model, [&](const Node& node) {
      if (!is_called(node, entry.name)) return;
      if (entry.kind == Unexplained::Kind::graph) {
        for (const auto& graph : node.subgraphs()) graphs.insert(graph.get());
      } else if (holders_.contains(&node.graph())) {
        graphs.insert(&node.graph());
      } else {
        is_in_main = true;
      }
    });
    return !is_in_main && std::ranges::any_of(graphs, [&](const Graph* graph) { return may_count(*graph); });
  }

 private:
  /// Whether other inputs may enter a graph, and the other model has the node that holds it.
  [[nodiscard]] bool may_enter(const Graph& graph, const Graph& other) const {
    const auto holder = holders_.find(&graph);
    if (holder == holders_.end() || is_decided(*holder->second)) return false;
    const Node* const like = find_like(other, *holder->second);
    return like != nullptr && !is_retyped(graph, *holder->second, *like);
  }

  /// Whether a graph is that of the other model's node in other types, as B is meant to compute in them.
  [[nodiscard]] bool is_retyped(const Graph& graph, const Node& holder, const Node& like) const {
    const auto& graphs = holder.subgraphs();
    const auto at = as_size(std::ranges::find(graphs, &graph, &std::unique_ptr<Graph>::get) - graphs.begin());
    if (retyped_ == nullptr || at >= graphs.size() || graphs.size() != like.subgraphs().size()) return false;
    const Graph& other = *like.subgraphs()[at];
    return &side_ == &evidence_.pair().a ? retyped_->are_alike(graph, other) : retyped_->are_alike(other, graph);
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
  RetypedGraphs* retyped_;  ///< null: types count
  std::unordered_map<const Graph*, const Node*> holders_;
  Constants constants_;
};

/// Whether an entry is about nodes, or about a constant that differs by more than rounding to the type that B computes in.
bool counts_unentered(const Unexplained& entry, const Pair& pair) {
  if (!is_stored(entry)) return entry.kind != Unexplained::Kind::interface;
  if (entry.values == 0) return false;
  return pair.grain == DataType::undefined ? entry.largest > rules::kRoundedConstant
                                           : entry.beyond_half > rules::kGainRoundings * unit_roundoff(pair.grain);
}

}  // namespace

VerifyFindings find_unentered_graphs(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const Graph &a = pair.a.model->graph(), &b = pair.b.model->graph();
  std::optional<RetypedGraphs> retyped;
  if (pair.grain != DataType::undefined) retyped.emplace(a, b);
  RetypedGraphs* const twins = retyped ? &*retyped : nullptr;
  NestedGraphs in_a(pair.a, evidence, twins), in_b(pair.b, evidence, twins);
  VerifyFindings out;
  if (!in_a.any() && !in_b.any()) return out;
  for (const Unexplained& entry : evidence.unexplained()) {
    if (!counts_unentered(entry, pair) || !(entry.in_first ? in_a.is_unentered(entry, b) : in_b.is_unentered(entry, a))) continue;
    out.push_back({.text = unreached(entry), .node = entry.name});
  }
  return out;
}

}  // namespace relayout
