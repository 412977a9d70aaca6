// Finds the operands of Wheres behind which alone two models differ, so that only conditions that choose them show it.
#include "verify/compare/chosen_sides.h"

#include "model/node.h"
#include "model/walk.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/compare/compare_nodes.h"

namespace relayout {
namespace {

/// The Where of the other model with this one's result; nullptr: none.
const Node* find_namesake(const Model& other, const Node& where) {
  const Value* const made = where.output(0);
  const Node* found = nullptr;
  for_each_node(other, [&](const Node& node) {
    const bool is_it = node.is("Where") && made != nullptr && node.output(0) != nullptr && node.output(0)->name() == made->name();
    if (found == nullptr && is_it) found = &node;
  });
  return found;
}

}  // namespace

ChosenSides::ChosenSides(const Model& model, const Model& other, const ProofResult& proof, bool is_first, IsPartner is_partner)
    : other_(other), functions_(model), is_partner_(std::move(is_partner)) {
  std::unordered_set<std::string_view> names, holders;
  for (const Unexplained& entry : proof.unexplained) {
    if (entry.in_first != is_first || is_constant(entry) || entry.kind == Unexplained::Kind::interface) continue;
    (entry.kind == Unexplained::Kind::graph ? holders : names).insert(entry.name);
  }
  if (!is_first) names.insert(proof.unreached.begin(), proof.unreached.end());
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

ChosenSides::Nodes ChosenSides::reach(const Value& value, const std::function<bool(const Value&)>& ends, const ChosenSide& without) const {
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

bool ChosenSides::is_other_operand(const ChosenSide& side) const {
  const Node* const namesake = find_namesake(other_, *side.where);
  const Value* const mine = side.where->input(side.operand);
  const Value* const theirs = namesake == nullptr ? nullptr : namesake->input(side.operand);
  return mine == nullptr || theirs == nullptr || !is_partner_(*mine, *theirs);
}

std::vector<ChosenSide> ChosenSides::of(const Value& value, const std::function<bool(const Value&)>& ends,
                                        const std::vector<const Node*>& more) const {
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

}  // namespace relayout
