// Finds differences within nested graphs and functions that no sample enters, and tells whether other inputs could enter them.
// Neither the outputs nor the node itself can show them.

#include <cmath>

#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/pairing.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/rules.h"
#include "verify/run/bounds.h"

namespace relayout {
namespace {

/// A value, and those upstream of it from which Casts between real numbers lead to it.
std::vector<const Value*> with_uncast(const Value& value, const ElementTypes& types) {
  std::vector<const Value*> out{&value};
  const auto is_real = [&](const Value* one) { return one != nullptr && kRealTypes.has(types.of(*one)); };
  while (is_real(out.back()) && out.back()->producer() != nullptr && out.back()->producer()->is("Cast") &&
         is_real(out.back()->producer()->input(0))) {
    out.push_back(out.back()->producer()->input(0));
  }
  return out;
}

/// Whether two nodes have the same attributes, apart from graphs, and from the real type that a Cast names.
bool have_same_attributes(const Node& a, const Node& b) {
  const auto texts = [](const Node& node) {
    std::vector<std::string> out;
    for (const onnx::AttributeProto& attribute : node.message().attribute()) {
      const bool is_real_type = node.is("Cast") && attribute.name() == "to" && kRealTypes.has(static_cast<DataType>(attribute.i()));
      if (!attribute.has_g()) out.push_back(is_real_type ? "to" : attribute.SerializeAsString());
    }
    std::ranges::sort(out);
    return out;
  };
  return texts(a) == texts(b);
}

/// Recognises a nested graph of B as one of A in other types of real numbers: the same operators, attributes and connections, with Casts
/// between real numbers anywhere, and constants that are A's rounded to B's types.
class RetypedGraphs {
 public:
  /// Main graphs; both must outlive this.
  RetypedGraphs(const Graph& a, const Graph& b);

  [[nodiscard]] bool are_alike(const Graph& a, const Graph& b);

 private:
  [[nodiscard]] bool have_same_results(const Graph& a, const Graph& b);
  [[nodiscard]] bool are_alike(const Value* a, const Value* b);
  [[nodiscard]] bool are_alike(const Node& a, const Node& b);
  [[nodiscard]] bool are_partners(const std::vector<const Value*>& a, const std::vector<const Value*>& b);
  [[nodiscard]] std::optional<bool> are_equal_constants(const Value& a, const Value& b);

  const Graph &main_a_, &main_b_;
  OpSignatures signatures_;
  ElementTypes types_a_, types_b_;
  Constants constants_a_, constants_b_;
  std::optional<std::unordered_map<const Value*, Partner>> partners_;  ///< of the main graphs, when first needed
  std::unordered_map<const Value*, const Value*> alike_;               ///< values of B with those of A that they were found to be
};

RetypedGraphs::RetypedGraphs(const Graph& a, const Graph& b) : main_a_(a), main_b_(b), types_a_(a, signatures_), types_b_(b, signatures_) {}

bool RetypedGraphs::are_alike(const Graph& a, const Graph& b) {
  alike_.clear();
  return have_same_results(a, b);
}

bool RetypedGraphs::have_same_results(const Graph& a, const Graph& b) {
  if (a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) return false;
  for (std::size_t i = 0; i < a.inputs().size(); ++i) alike_.emplace(b.inputs()[i], a.inputs()[i]);
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    if (!are_alike(a.outputs()[i], b.outputs()[i])) return false;
  }
  return true;
}

bool RetypedGraphs::are_alike(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const std::vector<const Value*> of_a = with_uncast(*a, types_a_), of_b = with_uncast(*b, types_b_);
  const Value &left = *of_a.back(), &right = *of_b.back();
  if (const auto known = alike_.find(&right); known != alike_.end()) return known->second == &left;
  if (const auto constants = are_equal_constants(left, right)) return *constants;
  const bool is_inside = left.graph().outer() != nullptr;
  if (is_inside != (right.graph().outer() != nullptr)) return false;
  const bool found = is_inside ? left.producer() != nullptr && right.producer() != nullptr && left.output_index() == right.output_index() &&
                                     are_alike(*left.producer(), *right.producer())
                               : are_partners(of_a, of_b);
  if (found) alike_.emplace(&right, &left);
  return found;
}

bool RetypedGraphs::are_alike(const Node& a, const Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || has_trait(a, Trait::random) || !have_same_attributes(a, b)) return false;
  for (std::size_t i = 0; i < std::max(a.inputs().size(), b.inputs().size()); ++i) {
    if (!are_alike(a.input(i), b.input(i))) return false;
  }
  if (a.subgraphs().size() != b.subgraphs().size()) return false;
  for (std::size_t i = 0; i < a.subgraphs().size(); ++i) {
    if (!have_same_results(*a.subgraphs()[i], *b.subgraphs()[i])) return false;
  }
  return true;
}

/// Whether one of the values of b is paired with one of those of a: they differ by Casts alone.
bool RetypedGraphs::are_partners(const std::vector<const Value*>& a, const std::vector<const Value*>& b) {
  if (!partners_) partners_ = pair_values(main_a_, main_b_);
  return std::ranges::any_of(b, [&](const Value* value) {
    const auto partner = partners_->find(value);
    return std::ranges::any_of(a, [&](const Value* other) {
      const bool are_inputs = value->is_model_input() && other->is_model_input() && value->name() == other->name();
      return are_inputs || (partner != partners_->end() && partner->second.value == other && !partner->second.channels_last);
    });
  });
}

/// Nothing where neither is a constant.
std::optional<bool> RetypedGraphs::are_equal_constants(const Value& a, const Value& b) {
  const auto in_a = constants_a_.find(a), in_b = constants_b_.find(b);
  const auto *const left = std::get_if<Constant>(&in_a), *const right = std::get_if<Constant>(&in_b);
  if (left == nullptr && right == nullptr) return std::nullopt;
  if (left == nullptr || right == nullptr || left->dims != right->dims) return false;
  const bool are_real = kRealTypes.has(left->type) && kRealTypes.has(right->type);
  if ((!are_real && left->type != right->type) || !(kNumericTypes | kBooleanTypes).has(left->type)) return false;
  const bool is_narrower = unit_roundoff(right->type) > unit_roundoff(left->type);
  const Datum mine(left->load());
  const std::vector<double> expected = reals_of((is_narrower ? through(mine, right->type) : mine).tensor), made = reals_of(right->load());
  return std::ranges::equal(expected, made, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

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
  return pair.grain == DataType::undefined ? entry.largest > rules::kRoundedConstantDifference
                                           : entry.beyond_half > rules::kGainInRoundings * unit_roundoff(pair.grain);
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
  const NamedNodes &of_a = evidence.named(pair.a), &of_b = evidence.named(pair.b);
  for (const Unexplained& entry : evidence.unexplained()) {
    if (!counts_unentered(entry, pair) || !(entry.in_first ? in_a.is_unentered(entry, of_b) : in_b.is_unentered(entry, of_a))) continue;
    out.push_back({.text = unreached(entry), .node = entry.name});
  }
  return out;
}

}  // namespace relayout
