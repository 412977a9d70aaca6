// Finds what proofs about real numbers leave open: guards that are lost, numbers beyond their type, orders that ONNX does not define.

#include <cmath>

#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "proof/finite_numbers.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/extreme_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/guarded_ways.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/thresholds.h"

namespace relayout {

// Guards: numbers that keep an operand off the edge of a domain, that one model lacks or its type does not hold.
namespace {

/// Whether 1 / guard exceeds the largest number of float16.
bool may_overflow_narrow(double guard) {
  constexpr double kMost = 65504;
  return guard * kMost < 1;
}

const char* words_of(Extreme extreme) {
  switch (extreme) {
    case Extreme::zeros:
      return "zeros";
    case Extreme::equal:
      return "equal numbers";
    case Extreme::apart:
      return "numbers far apart";
    case Extreme::alone:
      return "one number far above the others";
    case Extreme::low:
      return "numbers far below 0";
    case Extreme::close:
      return "numbers that hardly vary";
    case Extreme::usual:
    case Extreme::large:
    case Extreme::drawn:
      break;
  }
  return "numbers of usual size";
}

/// The nodes of the second model that the proof leaves open: with an unexplained part, upstream or downstream of one. A part without a name
/// may be that of any node without one.
class OpenNodes {
 public:
  OpenNodes(const Model& model, const ProofResult& proof) : names_(proof.unreached.begin(), proof.unreached.end()) {
    for (const Unexplained& part : proof.unexplained) {
      const bool has_place = !part.in_first && part.kind != Unexplained::Kind::interface && part.kind != Unexplained::Kind::graph;
      if (has_place) names_.insert(part.name);
      are_all_ = are_all_ || !has_place;
    }
    std::size_t found = 0;
    do {
      found = nodes_.size();
      for_each_node(model, [&](const Node& node) {
        if (is_touched(node)) add(node);
      });
    } while (nodes_.size() > found);
  }

  [[nodiscard]] bool contains(const Node& node) const { return are_all_ || nodes_.contains(&node); }

 private:
  [[nodiscard]] bool is_touched(const Node& node) const {
    const auto is_named = [&](const Value* value) { return value != nullptr && names_.contains(value->name()); };
    const auto is_made = [&](const Value* value) { return value != nullptr && nodes_.contains(value->producer()); };
    return node.graph().is_function() || names_.contains(node.name()) || std::ranges::any_of(node.outputs(), is_named) ||
           std::ranges::any_of(node.inputs(), is_named) || std::ranges::any_of(node.inputs(), is_made);
  }
  void add(const Node& node) {
    for (const Node* at = &node; at != nullptr; at = at->graph().owner()) nodes_.insert(at);
  }

  std::unordered_set<std::string> names_;
  std::unordered_set<const Node*> nodes_;
  bool are_all_ = false;
};

/// By how much rounding may change a guard: of stored constants, and of the numbers of a narrow type, the smallest of which have few bits.
double rounding_of_guard(double guard, DataType narrow) {
  constexpr double kSmallestHalf = 0x1p-24;
  const double least = narrow == DataType::float16 ? kSmallestHalf / guard : 0;
  return std::max({thresholds::kRoundedConstantDifference, 2 * unit_roundoff(narrow), least});
}

std::string describe(const EdgeMismatch& found, const Node* guard, const Pair& pair) {
  const std::string maker_side = found.is_of_a ? "A" : "B", other_side = found.is_of_a ? "B" : "A";
  const std::string by = guard == nullptr ? "" : " (by node " + guard->label() + ")";
  const std::string what = !found.other_peak ? "its results are infinite or NaN, those of " + other_side + " are not"
                                             : "its results are up to " + significant(found.peak, 2) + ", those of " + other_side +
                                                   " up to " + significant(*found.other_peak, 2);
  return "node " + found.maker->label() + " of " + maker_side + ": fed " + words_of(found.extreme) + ", " + what + by +
         ", and no sample holds such numbers" + (pair.proved ? "; the proof leaves this open" : "") + " (--input gives your own)";
}

}  // namespace

VerifyFindings find_lost_guards(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const GuardedWays &a = evidence.guarded_ways(pair.a), &b = evidence.guarded_ways(pair.b);
  const Node *const of_a = a.first_alone(b, rough_tolerance), *const of_b = b.first_alone(a, rough_tolerance);
  const bool is_other = of_a != nullptr || of_b != nullptr;
  const bool may_overflow = pair.grain == DataType::float16 && may_overflow_narrow(b.least_guard());
  const bool cancels = a.count_differences() != b.count_differences();
  if (!is_other && !may_overflow && !cancels) return {};
  const OpenNodes open(*pair.b.model, *evidence.proof());
  const Guarded guarded{&a, &b, [&](const Node& node) { return pair.proved || open.contains(node); }};
  // A small guard overflows next to numbers without spread; only one that differs counts next to others.
  std::vector<Extreme> extremes{Extreme::zeros, Extreme::equal};
  if (is_other) extremes.insert(extremes.end(), {Extreme::apart, Extreme::alone, Extreme::low});
  if (cancels) extremes.push_back(Extreme::close);
  const auto found = compare_edges({pair, evidence.reference(), evidence.layers(), evidence.entering_samples()}, extremes,
                                   is_other && !pair.proved, guarded);
  if (!found) return {};
  return {{.text = describe(*found, found->is_of_a ? of_b : of_a, pair), .node = reported_name(*found->maker)}};
}

/// Next to numbers of its own size, a guard counts by its size, not by that of the sum.
VerifyFindings find_changed_guards(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const GuardedWays &a = evidence.guarded_ways(pair.a), &b = evidence.guarded_ways(pair.b);
  const GuardTolerance tolerance = [&](double guard) { return rounding_of_guard(guard, pair.narrow); };
  if (!a.has_other_numbers(b, tolerance)) return {};
  for (const Feeding feeding : {Feeding::small, Feeding::tiny, Feeding::faint, Feeding::faintest}) {
    if (pair.narrow == DataType::float16 && feeding > Feeding::tiny) break;
    for (const LayerResult& layer : evidence.fed(feeding)) {
      if (!convicts(layer)) continue;
      const std::vector<std::size_t> entries = entries_of(layer);
      const std::string text = entries.empty() ? "node " + quote(layer.node) : evidence.unexplained()[entries.front()].text;
      return {{.text = text + ", next to small numbers that counts, and no sample holds such numbers" + kMoreSamples, .node = layer.node}};
    }
  }
  return {};
}

// Intermediate numbers that constants, or Exp in float16, bring beyond their type in one model alone.
namespace {

/// The least number of which Exp is infinite in float16.
constexpr double kEndOfExpInHalf = 11.1;

/// Whether one of two models in float16 has an Exp more than the other.
bool has_other_exponentials(const Pair& pair) {
  const auto count_of = [](const Model& model) {
    int64_t count = 0;
    for_each_node(model, [&](const Node& node) { count += node.is("Exp") ? 1 : 0; });
    return count;
  };
  return pair.narrow == DataType::float16 && count_of(*pair.a.model) != count_of(*pair.b.model);
}

VerifyFinding finding_of(const Node& node, const char* model, const std::string& what, bool is_proved) {
  return {.text = "node " + node.label() + " of " + model + " " + what + ", where the other model does not" +
                  (is_proved ? "; the proof leaves this open" : ""),
          .node = reported_name(node)};
}

}  // namespace

VerifyFindings find_formula_overflow(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  if (pair.grain != DataType::undefined) return {};  // a coarser type has an earlier end, which is intended
  proof::Overflows overflows = proof::overflows_alone(*pair.a.model, *pair.b.model);
  // A fold that brings a factor into weights is right.
  if (pair.proved) std::erase_if(overflows.of_a, [](const proof::Overflow& overflow) { return overflow.is_multiplied; });
  const bool may_be_exponential = has_other_exponentials(pair);
  if (overflows.of_a.empty() && overflows.of_b.empty() && !may_be_exponential) return {};
  const auto find = [&](const Node& node) -> const proof::Overflow* {
    for (const auto* const list : {&overflows.of_a, &overflows.of_b}) {
      const auto found = std::ranges::find(*list, &node, &proof::Overflow::node);
      if (found != list->end()) return &*found;
    }
    return nullptr;
  };
  const auto may_make = [&](const Node& node) { return (may_be_exponential && node.is("Exp")) || find(node) != nullptr; };
  for (const auto& [list, of] : {std::pair(&overflows.of_a, "A"), std::pair(&overflows.of_b, "B")}) {
    const auto low = std::ranges::find_if(*list, &proof::Overflow::is_low);
    if (low != list->end()) return {finding_of(*low->node, of, text_of(*low), pair.proved)};
  }
  const ExtremeTask task{pair, evidence.reference(), evidence.layers(), evidence.entering_samples()};
  auto found = compare_finite(task, Extreme::usual, may_make);
  const bool is_summed =
      std::ranges::any_of(overflows.of_a, &proof::Overflow::is_summed) || std::ranges::any_of(overflows.of_b, &proof::Overflow::is_summed);
  if (!found && is_summed) found = compare_finite(task, Extreme::large, may_make);
  if (!found) return {};
  const proof::Overflow* const overflow = find(*found->maker);
  const proof::Overflow of_exp{.from = std::log2(kEndOfExpInHalf)};
  return {finding_of(*found->maker, found->is_of_a ? "A" : "B", text_of(overflow == nullptr ? of_exp : *overflow), pair.proved)};
}

// A TopK that may return its numbers in any order in one model alone, where a reader sees the order.
namespace {

/// Whether a node reduces along an axis; where that is not known, it may.
bool reduces_along(const Node& node, int64_t axis, std::size_t rank) {
  if (reduces(node) == Reduces::none) return false;
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
  const Traits traits = traits_of(node);
  if (!traits.has(Trait::indexes) || traits.moves_input(0)) return false;
  const auto is_fit = [&](const Value* value) {
    return value != nullptr && (unordered.contains(value) || Constants().is_constant(*value));
  };
  return use.index > 0 && is_fit(node.input(1)) && is_fit(node.input(2));
}

/// Whether a node's results have the same order as a value that it reads.
bool keeps_open_order(const Use& use) {
  const Traits traits = traits_of(*use.node);
  const bool gathers = traits.has(Trait::indexes) && traits.along() == Along::axis && traits.moves_input(0) && !traits.moves_input(2);
  return traits.has(Trait::elementwise) || traits.has(Trait::casts) || traits.has(Trait::identity) || traits.has(Trait::softmax) ||
         traits.arithmetic() != Arithmetic::none || use.node->is("Unsqueeze") || use.node->is("Squeeze") || (use.index == 1 && gathers);
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
