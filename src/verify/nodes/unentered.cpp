// Finds differences within an If, Loop or Scan graph that no sample enters, and whether other inputs could enter it. Neither the outputs
// nor the node itself can show them.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/node_name.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/session.h"

namespace relayout {
namespace {

using Graphs = std::unordered_set<const Graph*>;

/// Whether the file alone decides which graphs a node enters: a graph that it does not enter never counts.
bool is_decided(const Node& holder) {
  Constants constants;
  const auto is_fixed = [&](const Value* value) { return value == nullptr || constants.is_constant(*value); };
  return (holder.is("If") || holder.is("Loop")) && is_fixed(holder.input(0)) && (holder.is("If") || is_fixed(holder.input(1)));
}

/// Whether a model has a node of this one's operator and name, or first output. Nodes without a name have the same one.
bool has_like(const Graph& graph, const Node& like) {
  const Value* const output = first_output(like);
  bool found = false;
  for_each_node(graph, [&](const Node& node) {
    const bool is_called_alike = is_called(node, like.name()) || (output != nullptr && is_called(node, output->name()));
    found = found || (is_called_alike && node.op_type() == like.op_type());
  });
  return found;
}

/// The nested graphs of a model, and which of them the samples enter; runs the samples at the first question.
class NestedGraphs {
 public:
  NestedGraphs(const Pair& pair, const Side& side, const Reference& reference) : pair_(pair), side_(side), reference_(reference) {
    for_each_node(side.model->graph(), [this](const Node& node) {
      for (const auto& graph : node.subgraphs()) holders_.emplace(graph.get(), &node);
    });
  }

  [[nodiscard]] bool any() const noexcept { return !holders_.empty(); }
  [[nodiscard]] bool enters_all_of(const Node& holder) {
    return std::ranges::all_of(holder.subgraphs(), [this](const auto& graph) { return enters(*graph); });
  }
  /// Whether a node of this name is in a nested graph that no sample enters, and none is in the main graph. For an entry about whole
  /// graphs, whether the node holds such a graph.
  [[nodiscard]] bool is_unentered(const Unexplained& entry, const Graph& other) {
    Graphs graphs;
    bool is_in_main = false;
    for_each_node(side_.model->graph(), [&](const Node& node) {
      if (!is_called(node, entry.name)) return;
      if (entry.kind == Unexplained::Kind::graph) {
        for (const auto& graph : node.subgraphs()) graphs.insert(graph.get());
      } else if (holders_.contains(&node.graph())) {
        graphs.insert(&node.graph());
      } else {
        is_in_main = true;
      }
    });
    return !is_in_main && std::ranges::any_of(graphs, [&](const Graph* graph) { return may_enter(*graph, other) && !enters(*graph); });
  }

 private:
  /// Whether other inputs may enter a graph, and the other model has the node that holds it.
  [[nodiscard]] bool may_enter(const Graph& graph, const Graph& other) const {
    const Node& holder = *holders_.at(&graph);
    return has_like(other, holder) && !is_decided(holder);
  }

  [[nodiscard]] bool enters(const Graph& graph) {
    if (!entered_) run();
    return entered_->contains(&graph);
  }

  void run() {
    entered_.emplace();
    ExecuteOptions options = pair_.execute_options(Mode::as_written);
    options.observe = [this](const Node& node, const std::vector<Datum>&) { entered_->insert(&node.graph()); };
    const std::unique_ptr<Session> session = pair_.open(side_, std::move(options));
    for (std::size_t s = 0; s < reference_.samples().size(); ++s) {
      pair_.steps->next("nested graphs");
      (void)session->run(reference_.inputs_of(s));
    }
  }

  const Pair& pair_;
  const Side& side_;
  const Reference& reference_;
  std::unordered_map<const Graph*, const Node*> holders_;
  std::optional<Graphs> entered_;
};

bool is_about_nodes(const Unexplained& entry) {
  using Kind = Unexplained::Kind;
  const auto kinds = {Kind::attribute, Kind::operand, Kind::node_added, Kind::node_removed, Kind::node_changed, Kind::graph};
  return std::ranges::find(kinds, entry.kind) != kinds.end();
}

}  // namespace

bool has_unentered_graph(const Pair& pair, const Side& side, const Reference& reference, const Node& node) {
  return !NestedGraphs(pair, side, reference).enters_all_of(node);
}

const Unexplained* find_unentered(const Pair& pair, const Reference& reference, const ProofResult& proof) {
  const Graph &a = pair.a.model->graph(), &b = pair.b.model->graph();
  NestedGraphs in_a(pair, pair.a, reference), in_b(pair, pair.b, reference);
  if (!in_a.any() && !in_b.any()) return nullptr;
  const auto is_unentered = [&](const Unexplained& entry) {
    return is_about_nodes(entry) && (entry.in_first ? in_a.is_unentered(entry, b) : in_b.is_unentered(entry, a));
  };
  const auto found = std::ranges::find_if(proof.unexplained, is_unentered);
  return found == proof.unexplained.end() ? nullptr : &*found;
}

}  // namespace relayout
