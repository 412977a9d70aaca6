// Finds, for each value that the proof leaves open, the nodes upstream of it in which the two models differ.
#include "verify/compare/changes.h"

#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/layers.h"
#include "verify/compare/pairing.h"
#include "verify/pair.h"

namespace relayout {
namespace {

using Nodes = std::vector<const Node*>;
using ValueSet = std::unordered_set<const Value*>;

/// Maximum number of nodes in a change: more are a different network.
constexpr std::size_t kMostNodes = 64;

/// Nodes upstream of a value whose elements reach it. Stops at constants, at `known` values, and at inputs and values where `ends` holds,
/// which it collects.
struct Upstream {
  Nodes nodes;
  ValueSet ends;
};

Upstream upstream_of(const Value& value, const ValueSet& known, const std::function<bool(const Value&)>& ends) {
  Upstream out;
  if (known.contains(&value)) return out;
  std::vector<const Value*> open{&value};
  std::unordered_set<const Node*> seen;
  while (!open.empty() && out.nodes.size() < kMostNodes) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    out.nodes.push_back(node);
    const auto follow = [&](const Value& read) {
      if (known.contains(&read) || read.is_stored_constant()) return;
      if (read.producer() == nullptr || ends(read)) {
        out.ends.insert(&read);
      } else {
        open.push_back(&read);
      }
    };
    const Traits traits = traits_of(*node);
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr && traits.reads(i) == Reads::elements) follow(*node->input(i));
    }
    for_each_capture(*node, follow);
  }
  return out;
}

/// Whether two nodes have operands at the same positions, and constants at the same ones.
bool has_like_operands(const Node& a, const Node& b) {
  const auto is_stored = [](const Value* value) { return value != nullptr && value->is_stored_constant(); };
  for (std::size_t i = 0; i < std::max(a.inputs().size(), b.inputs().size()); ++i) {
    if ((a.input(i) == nullptr) != (b.input(i) == nullptr) || is_stored(a.input(i)) != is_stored(b.input(i))) return false;
  }
  return true;
}

/// Whether two nodes are the same operator with the same attributes, apart from nested graphs.
bool is_like(const Node& a, const Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || !has_like_operands(a, b)) return false;
  const auto has_all_of = [](const Node& of, const Node& in) {
    return std::ranges::all_of(of.message().attribute(), [&](const onnx::AttributeProto& attribute) {
      const onnx::AttributeProto* const same = in.attribute(attribute.name());
      return attribute.has_g() || (same != nullptr && same->SerializeAsString() == attribute.SerializeAsString());
    });
  };
  return has_all_of(a, b) && has_all_of(b, a);
}

/// Nodes in the nested graphs of `holder` without a node of the same operator and result name in the nested graphs of `other`.
Nodes nested_alone(const Node& holder, const Node& other) {
  std::set<std::pair<std::string_view, std::string_view>> there;
  const auto visit_all = [](const Node& node, const auto& visit) {
    for (const auto& graph : node.subgraphs()) {
      for_each_node(static_cast<const Graph&>(*graph), [&](const Node& inner) {
        if (inner.output(0) != nullptr) visit(inner);
      });
    }
  };
  visit_all(other, [&](const Node& node) { there.emplace(node.op_type(), node.output(0)->name()); });
  Nodes out;
  visit_all(holder, [&](const Node& node) {
    if (!there.contains({node.op_type(), node.output(0)->name()})) out.push_back(&node);
  });
  return out;
}

/// One of the two models.
struct OneSide {
  const Graph& graph;
  const Graph& other;
  ValueSet known;  ///< values that no element of an input reaches
};

/// Finds the nodes in which two models differ upstream of a pair of values.
class Parting {
 public:
  Parting(const Graph& a, const Graph& b, const Layers& layers)
      : a_{a, b, values_known_by_dims(a)}, b_{b, a, values_known_by_dims(b)}, layers_(layers) {}

  /// `is_constant_changed`: whether a constant operand of the node of b has changed.
  [[nodiscard]] Change find(const Layer& layer, const std::function<bool(const Node&)>& is_constant_changed) {
    Change change{layer.a, layer.b, {}, {}, {}, {}, {}};
    Upstream of_a = upstream_of(*layer.a, a_.known, [&](const Value& value) { return layers_.of_a(value) != nullptr; });
    Upstream of_b = upstream_of(*layer.b, b_.known, [&](const Value& value) { return layers_.of_b(value) != nullptr; });
    const Node &head_a = *layer.a->producer(), &head_b = *layer.b->producer();
    const bool is_same = is_like(head_a, head_b) && !is_constant_changed(head_b);
    const auto keep = [&](Nodes& to, const Nodes& from, const Node& head, const Node& other) {
      std::ranges::copy_if(from, std::back_inserter(to), [&](const Node* node) { return !is_same || node != &head; });
      std::ranges::copy(nested_alone(head, other), std::back_inserter(to));
    };
    keep(change.of_a, of_a.nodes, head_a, head_b);
    keep(change.of_b, of_b.nodes, head_b, head_a);
    add_passed(change.of_a, of_a.ends, partners_of(of_b.ends, false), a_);
    add_passed(change.of_b, of_b.ends, partners_of(of_a.ends, true), b_);
    return change;
  }

 private:
  /// The corresponding values of the other model.
  [[nodiscard]] ValueSet partners_of(const ValueSet& values, bool is_of_a) {
    ValueSet out;
    for (const Value* const value : values) {
      const Layer* const layer = is_of_a ? layers_.of_a(*value) : layers_.of_b(*value);
      const Value* const same = layer != nullptr               ? (is_of_a ? layer->b : layer->a)
                                : value->producer() == nullptr ? (is_of_a ? b_ : a_).graph.find(value->name())
                                                               : nullptr;
      if (same != nullptr) out.insert(same);
    }
    return out;
  }

  /// Adds the nodes between a value that one model reads and the values upstream of it that the other model reads instead.
  void add_passed(Nodes& out, const ValueSet& ends, const ValueSet& read_by_other, const OneSide& half) const {
    for (const Value* const end : ends) {
      if (read_by_other.contains(end)) continue;
      const Upstream passed = upstream_of(*end, half.known, [&](const Value& value) { return read_by_other.contains(&value); });
      // Without a value upstream that the other model reads, `end` is an unrelated value.
      const bool is_way = std::ranges::any_of(passed.ends, [&](const Value* value) { return read_by_other.contains(value); });
      if (is_way) std::ranges::copy(passed.nodes, std::back_inserter(out));
    }
  }

  OneSide a_, b_;
  const Layers& layers_;
};

void make_unique(Nodes& nodes) {
  std::unordered_set<const Node*> seen;
  std::erase_if(nodes, [&](const Node* node) { return !seen.insert(node).second; });
}

/// Finds, in one of two models, the operands of Wheres behind which alone it differs.
class ChosenSides {
 public:
  /// Whether a value of the other model is to be equal to one of this model.
  using IsPartner = std::function<bool(const Value& mine, const Value& theirs)>;
  ChosenSides(const Model& model, const Model& other, const ProofResult& proof, bool is_first, IsPartner is_partner)
      : functions_(model), is_partner_(std::move(is_partner)) {
    std::unordered_set<std::string_view> names, holders;
    for (const Unexplained& entry : proof.unexplained) {
      if (entry.in_first != is_first || is_constant(entry) || entry.kind == Unexplained::Kind::interface) continue;
      (entry.kind == Unexplained::Kind::graph ? holders : names).insert(entry.name);
    }
    if (!is_first) names.insert(proof.unreached.begin(), proof.unreached.end());
    for_each_node(other, [&](const Node& node) {
      if (node.is("Where") && node.output(0) != nullptr) wheres_.emplace(node.output(0)->name(), &node);
    });
    const auto is_among = [](const Node& node, const std::unordered_set<std::string_view>& among) {
      return among.contains(node.name()) || (first_output(node) != nullptr && among.contains(first_output(node)->name()));
    };
    for_each_node(model, [&](const Node& node) {
      if (is_among(node, names)) open_.insert(&node);
      if (!is_among(node, holders)) return;
      for (const auto& graph : node.subgraphs()) {
        for_each_node(static_cast<const Graph&>(*graph), [&](const Node& inner) { open_.insert(&inner); });
      }
    });
  }

  /// Those among the nodes that compute a value from others where `ends` holds, in nested graphs and functions too. `more`: nodes that are
  /// open besides those that the proof tells.
  [[nodiscard]] std::vector<ChosenSide> of(const Value& value, const std::function<bool(const Value&)>& ends, const Nodes& more) const {
    std::vector<ChosenSide> out;
    const auto is_open = [&](const Node* node) { return open_.contains(node) || std::ranges::find(more, node) != more.end(); };
    const Nodes all = reach(value, ends, {});
    if (std::ranges::none_of(all, is_open)) return out;
    for (const Node* const node : all) {
      if (!node->is("Where")) continue;
      for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
        const ChosenSide side{node, operand};
        const Nodes rest = reach(value, ends, side);
        const std::unordered_set<const Node*> shown(rest.begin(), rest.end());
        const auto is_hidden = [&](const Node* other) { return is_open(other) && !shown.contains(other); };
        if (std::ranges::any_of(all, is_hidden) || (is_open(node) && is_other_operand(side))) out.push_back(side);
      }
    }
    return out;
  }

 private:
  /// The nodes between, but for those that only this operand leads to.
  [[nodiscard]] Nodes reach(const Value& value, const std::function<bool(const Value&)>& ends, const ChosenSide& without) const {
    Nodes out;
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> pending{value.producer()};
    while (!pending.empty()) {
      const Node* const node = pending.back();
      pending.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      out.push_back(node);
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        const bool is_left_out = node == without.where && i == without.operand;
        if (node->input(i) != nullptr && !is_left_out && !ends(*node->input(i))) pending.push_back(node->input(i)->producer());
      }
      const auto enter = [&](const Graph& graph) {
        for (const Value* const output : graph.outputs()) {
          if (!ends(*output)) pending.push_back(output->producer());
        }
      };
      for (const auto& graph : node->subgraphs()) enter(*graph);
      if (const Graph* const function = functions_.called_by(*node)) enter(*function);
    }
    return out;
  }

  /// Whether this operand of a Where that is open itself may be another value than that of the other model's.
  [[nodiscard]] bool is_other_operand(const ChosenSide& side) const {
    const Value* const made = side.where->output(0);
    const auto namesake = made == nullptr ? wheres_.end() : wheres_.find(made->name());
    const Value* const mine = side.where->input(side.operand);
    const Value* const theirs = namesake == wheres_.end() ? nullptr : namesake->second->input(side.operand);
    return mine == nullptr || theirs == nullptr || !is_partner_(*mine, *theirs);
  }

  Functions functions_;
  std::unordered_set<const Node*> open_;  ///< about which there is an entry of another kind than constants, or that the proof did not reach
  std::unordered_map<std::string_view, const Node*> wheres_;  ///< of the other model, by their results
  IsPartner is_partner_;
};

}  // namespace

Changes::Changes(const Pair& pair, const Paired& paired) {
  const ProofResult& proof = *paired.proof;
  const Layers& layers = paired.layers;
  const Suspects& suspects = *paired.suspects;
  Parting parting(pair.a.model->graph(), pair.b.model->graph(), layers);
  const auto is_constant_changed = [&](const Node& node) {
    const auto entries = suspects.of({&node});
    return std::ranges::any_of(entries, [&](std::size_t entry) { return is_constant(proof.unexplained[entry]); });
  };
  const auto are_partners = [&](const Value& mine, const Value& theirs) {
    const Layer *const layer = layers.of_a(mine), *const other = layers.of_b(mine);
    const Value* const partner = layer != nullptr ? layer->b : other != nullptr ? other->a : nullptr;
    return partner == nullptr ? mine.name() == theirs.name() : partner == &theirs;
  };
  const ChosenSides sides_of_a(*pair.a.model, *pair.b.model, proof, true, are_partners);
  const ChosenSides sides_of_b(*pair.b.model, *pair.a.model, proof, false, are_partners);
  const auto is_known_in_a = [&](const Value& value) { return layers.of_a(value) != nullptr; };
  const auto is_known_in_b = [&](const Value& value) { return layers.of_b(value) != nullptr; };
  for (const Layer& layer : layers.all()) {
    Nodes nodes = layers.region_in_b(layer);
    const bool is_unreached = suspects.are_unreached(nodes);
    std::ranges::copy(layers.region_in_a(layer), std::back_inserter(nodes));
    std::vector<std::size_t> entries = suspects.of(nodes);
    const bool is_misread = entries.empty();
    if (is_misread) entries = misread_entries(layers, layer, suspects);
    if (entries.empty() && !is_unreached) continue;
    Change change = parting.find(layer, is_constant_changed);
    change.entries = std::move(entries);
    make_unique(change.of_a), make_unique(change.of_b);
    // The entry is then at a node upstream, and none tells the nodes between.
    const auto more = [&](Nodes of, const Value& value) {
      of.push_back(value.producer());
      return is_misread && !change.entries.empty() ? of : Nodes();
    };
    change.sides_of_a = sides_of_a.of(*layer.a, is_known_in_a, more(change.of_a, *layer.a));
    change.sides_of_b = sides_of_b.of(*layer.b, is_known_in_b, more(change.of_b, *layer.b));
    if (change.of_a.empty() && change.of_b.empty() && change.sides_of_a.empty() && change.sides_of_b.empty()) continue;
    by_name_.emplace(layer.b->name(), changes_.size());
    changes_.push_back(std::move(change));
  }
}

const Change* Changes::of_b(const std::string& tensor) const {
  const auto found = by_name_.find(tensor);
  return found == by_name_.end() ? nullptr : &changes_[found->second];
}

const Node* find_changed(const Change& change, bool (*is_wanted)(const Node&)) {
  for (const Nodes* const nodes : {&change.of_a, &change.of_b}) {
    const auto found = std::ranges::find_if(*nodes, [&](const Node* node) { return is_wanted(*node); });
    if (found != nodes->end()) return *found;
  }
  return nullptr;
}

}  // namespace relayout
