// Finds a TopK that may return its numbers in any order in one model alone, where a reader sees the order.

#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {
namespace {

/// Whether a node reduces along an axis; where that is not known, it may.
bool reduces_along(const Node& node, int64_t axis, std::size_t rank) {
  constexpr auto kReductions = std::to_array<std::string_view>({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                                                                "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"});
  if (std::ranges::none_of(kReductions, [&](std::string_view op) { return node.is(op); })) return false;
  std::vector<int64_t> axes = Attributes(node).integers("axes");
  const auto known = node.input(1) == nullptr ? std::nullopt : Constants().value(*node.input(1));
  if (known && kIntegerTypes.has(known->type())) axes = truncated_integers_of(*known);
  const auto is_it = [&](int64_t other) {
    const bool is_comparable = rank > 0 || (other < 0) == (axis < 0);
    return !is_comparable || other == axis || other == axis + static_cast<int64_t>(rank) || other + static_cast<int64_t>(rank) == axis;
  };
  return axes.empty() || std::ranges::any_of(axes, is_it);
}

/// Whether a node sorts numbers along the axis of another TopK, and is not asked where they were.
bool sorts_again(const Node& node, const Node& top) {
  const Value* const positions = node.output(1);
  return node.is("TopK") && Attributes(node).integer("axis", -1) == Attributes(top).integer("axis", -1) &&
         (positions == nullptr || (positions->uses().empty() && !positions->is_output()));
}

/// Whether a use takes all elements whatever their order: a reduction, another TopK, or a scatter of numbers to positions that both move
/// along.
bool takes_any_order(const Use& use, const Node& top, const std::unordered_set<const Value*>& unordered) {
  const Node& node = *use.node;
  if (sorts_again(node, top)) return use.index == 0;
  const auto declared = top.input(0)->declared();
  if (reduces_along(node, Attributes(top).integer("axis", -1), declared && declared->has_shape ? declared->dims.size() : 0))
    return use.index == 0;
  if (!node.is("ScatterElements") && !node.is("ScatterND")) return false;
  const auto is_fit = [&](const Value* value) {
    return value != nullptr && (unordered.contains(value) || Constants().is_constant(*value));
  };
  return use.index > 0 && is_fit(node.input(1)) && is_fit(node.input(2));
}

/// Whether a node's results have the same order as a value that it reads.
bool keeps_open_order(const Use& use) {
  const Traits traits = traits_of(*use.node);
  return traits.has(Trait::elementwise) || traits.has(Trait::casts) || traits.has(Trait::identity) ||
         traits.arithmetic() != Arithmetic::none || use.node->is("Unsqueeze") || use.node->is("Squeeze") || use.node->is("Softmax") ||
         (use.index == 1 && (use.node->is("Gather") || use.node->is("GatherElements")));
}

/// Whether outputs can depend on the order of a node's results.
bool shows_order(const Node& node) {
  std::vector<const Value*> open;
  std::unordered_set<const Value*> unordered;
  const auto enter = [&](const Node& of) {
    for (const Value* const output : of.outputs()) {
      if (output != nullptr && unordered.insert(output).second) open.push_back(output);
    }
  };
  enter(node);
  std::vector<Use> readers;
  while (!open.empty()) {
    const Value& value = *open.back();
    open.pop_back();
    if (value.is_output()) return true;
    for (const Use& use : value.uses()) keeps_open_order(use) ? enter(*use.node) : readers.push_back(use);
  }
  return !std::ranges::all_of(readers, [&](const Use& use) { return takes_any_order(use, node, unordered); });
}

bool takes_one(const Node& top) {
  const Value* const count = top.input(1);
  if (count == nullptr) return Attributes(top).integer("k", 0) == 1;
  const auto known = Constants().value(*count);
  return known && kIntegerTypes.has(known->type()) && known->element_count() == 1 && truncated_integers_of(*known).front() == 1;
}

/// The TopKs of a model whose order is open and can be seen.
std::vector<const Node*> open_orders(const Model& model) {
  const auto needed = needed_nodes(model.graph());
  std::vector<const Node*> out;
  for_each_node(model, [&](const Node& node) {
    if (!node.is("TopK") || !needed.contains(&node) || Attributes(node).integer("sorted", 1) != 0) return;
    if (!takes_one(node) && shows_order(node)) out.push_back(&node);
  });
  return out;
}

/// Those of some nodes whose results none of the others has.
std::vector<const Node*> without_namesakes(std::vector<const Node*> nodes, const std::vector<const Node*>& others) {
  std::erase_if(nodes, [&](const Node* node) {
    return std::ranges::any_of(others, [&](const Node* other) { return first_output(*other)->name() == first_output(*node)->name(); });
  });
  return nodes;
}

}  // namespace

VerifyFindings find_undefined_order(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const std::vector<const Node*> all_of_a = open_orders(*pair.a.model), all_of_b = open_orders(*pair.b.model);
  const std::vector<const Node*> of_a = without_namesakes(all_of_a, all_of_b), of_b = without_namesakes(all_of_b, all_of_a);
  const auto find_in = [&](const std::vector<const Node*>& nodes, const std::vector<const Node*>& others, const Side& other) {
    const auto is_ordered_there = [&](const Node* node) {
      const Node* const namesake = evidence.named(other).first(first_output(*node)->name());
      return nodes.size() > others.size() || (namesake != nullptr && namesake->is("TopK"));
    };
    const auto found = std::ranges::find_if(nodes, is_ordered_there);
    return found == nodes.end() ? nullptr : *found;
  };
  const Node* const in_a = find_in(of_a, of_b, pair.b);
  const Node* const node = in_a != nullptr ? in_a : find_in(of_b, of_a, pair.a);
  if (node == nullptr) return {};
  return {{.text = "node " + node->label() + " of " + (in_a != nullptr ? "A" : "B") +
                   " may return its numbers in any order (sorted = 0), those of the other model are in order, and outputs show it",
           .node = reported_name(*node)}};
}

}  // namespace relayout
