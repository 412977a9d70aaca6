// Finds Casts of integers to floating-point numbers that are too coarse for them.

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/tried_pieces.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/reference.h"

namespace relayout {
namespace {

/// Whether a node converts integers of a type that has numbers which the floating-point type does not hold.
bool is_coarse(const Node& node, const ElementTypes& types) {
  if (!has_trait(node, Trait::casts) || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  const DataType from = types.of(*node.input(0)), to = types.of(*node.output(0));
  return kIntegerTypes.has(from) && kRealTypes.has(to) && bounds_of_type(from).highest * unit_roundoff(to) > 1;
}

/// The first such node of a change, in the nodes of one model or in the node that makes its value.
const Node* coarse_cast_of(const std::vector<const Node*>& nodes, const Value& made, const ElementTypes& types) {
  const auto found = std::ranges::find_if(nodes, [&](const Node* node) { return is_coarse(*node, types); });
  if (found != nodes.end()) return *found;
  return made.producer() != nullptr && is_coarse(*made.producer(), types) ? made.producer() : nullptr;
}

/// Whether a value selects rows, through Casts and nodes that move elements, of a table with more than `most` rows.
bool selects_beyond(const Value& value, double most, Constants& constants) {
  return std::ranges::any_of(value.uses(), [&](const Use& use) {
    const Node& node = *use.node;
    const Traits traits = traits_of(node);
    if (traits.has(Trait::indexes) && use.index == 1 && node.input(0) != nullptr) {
      const auto dims = constants.dims(*node.input(0));
      const auto axis = dims ? checked_axis(Attributes(node).integer("axis", 0), dims->size()) : std::nullopt;
      return axis && static_cast<double>((*dims)[*axis]) > most;
    }
    const bool passes_on = traits.has(Trait::casts) || traits.has(Trait::identity) || (use.index == 0 && traits.moves_input(0));
    return passes_on && node.output(0) != nullptr && selects_beyond(*node.output(0), most, constants);
  });
}

/// "node 'ids' (Cast) of A rounds"
std::string said_of(const Node& cast, bool is_of_a) {
  return "node " + cast.label() + " of " + (is_of_a ? "A" : "B") + " rounds";
}

/// The input, or the Range of a number of elements that is not constant, whose integers a value holds: found upstream through nodes that
/// move integers and change their type alone. nullptr: others.
const Value* source_of_integers(const Value& value) {
  const Value* at = &value;
  while (const Node* const node = at->producer()) {
    const Traits traits = traits_of(*node);
    if (node->is("Range") && node->input(1) != nullptr && !Constants().is_constant(*node->input(1))) return at;
    if ((!traits.has(Trait::casts) && !traits.has(Trait::identity) && !traits.moves_input(0)) || node->input(0) == nullptr) return nullptr;
    at = node->input(0);
  }
  return at->is_model_input() ? at : nullptr;
}

/// Whether an operand of a comparison lies on the same side of the other one however it is rounded from `most` on.
bool is_constant_below(const Value* value, double most) {
  const auto known = value == nullptr ? std::nullopt : Constants().value(*value);
  if (!known || !kRealTypes.has(known->type())) return false;
  return std::ranges::all_of(reals_of(*known), [&](double number) { return std::fabs(number) < most; });
}

/// Whether the rounding of numbers from `most` on makes other results: a comparison, or a Sine or Cosine of sums and products of them.
/// Other functions of large numbers pass on rounding as rounding.
bool shows_grain(const Value& cast, double most) {
  std::vector<const Value*> open{&cast};
  std::unordered_set<const Value*> seen{&cast};
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const Use& use : open[i]->uses()) {
      const Node& node = *use.node;
      if (node.is("Sin") || node.is("Cos")) return true;
      const bool is_compared = open[i] == &cast && compares(predicate_of(node));
      if (is_compared && !is_constant_below(node.input(use.index == 0 ? 1 : 0), most)) return true;
      const Traits traits = traits_of(node);
      const bool passes_on = traits.arithmetic() != Arithmetic::none || traits.has(Trait::multiplies) || traits.has(Trait::casts) ||
                             traits.has(Trait::identity) || traits.moves_input(as_size(use.index));
      if (passes_on && node.output(0) != nullptr && seen.insert(node.output(0)).second) open.push_back(node.output(0));
    }
  }
  return false;
}

/// Where B may compute in 16 bits: a Cast of B to such a type of an input's integers, or of positions, that may be beyond those which the
/// type holds, where A's value of that name is of another type. Of files without common names: where A has no Cast to that type.
VerifyFindings find_unheld_integers(Evidence& evidence, const ElementTypes& types_a, const ElementTypes& types_b) {
  const Pair& pair = evidence.pair();
  const InputPorts& ports = evidence.reference().inputs().ports();
  ValueBounds bounds(pair.b.model->graph(), ports.masks(), ports.kept_integers());
  const auto is_cast_in_a = [&](DataType to) {
    bool found = false;
    for_each_node(*pair.a.model,
                  [&](const Node& node) { found = found || (is_coarse(node, types_a) && types_a.of(*node.output(0)) == to); });
    return found;
  };
  VerifyFindings out;
  for_each_node(*pair.b.model, [&](const Node& node) {
    if (!out.empty() || !is_coarse(node, types_b)) return;
    const DataType to = types_b.of(*node.output(0));
    const Value* const source = source_of_integers(*node.input(0));
    if (!kHalfTypes.has(to) || source == nullptr || !kIntegerTypes.has(types_b.of(*source))) return;
    if (pair.options->inputs.contains(source->name())) return;
    const Bounds held = source->producer() == nullptr ? bounds.of(*source) : bounds_of_type(types_b.of(*source));
    const double most = 1 / unit_roundoff(to);
    if (std::max(std::fabs(held.lowest), std::fabs(held.highest)) <= most || !shows_grain(*node.output(0), most)) return;
    const Node* const other = evidence.named(pair.a).first(node.output(0)->name());
    if (other != nullptr ? types_a.of(*first_output(*other)) == to : is_cast_in_a(to)) return;
    const std::string whose = source->producer() == nullptr ? "input " + quote(source->name()) : "node " + source->producer()->label();
    out.push_back({.text = said_of(node, false) + " the integers of " + whose + ", which may be beyond the " +
                           format_count(static_cast<int64_t>(most)) + " that " + std::string(name_of(to)) + " holds" + kMoreSamples,
                   .node = reported_name(node)});
  });
  return out;
}

}  // namespace

VerifyFindings find_cast_grain(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  OpSignatures signatures;
  const ElementTypes types_a(pair.a.model->graph(), signatures), types_b(pair.b.model->graph(), signatures);
  if (pair.grain != DataType::undefined) {
    VerifyFindings unheld = find_unheld_integers(evidence, types_a, types_b);
    if (!unheld.empty()) return unheld;
  }
  const Changes& changes = evidence.changes();
  const auto cast_of = [&](const Change& change) {
    const Node* const of_a = coarse_cast_of(change.of_a, *change.a, types_a);
    return of_a != nullptr ? of_a : coarse_cast_of(change.of_b, *change.b, types_b);
  };
  if (std::ranges::none_of(changes.all(), cast_of)) return {};
  Constants constants;
  for (const Change& change : changes.all()) {
    const Node *const of_a = coarse_cast_of(change.of_a, *change.a, types_a), *const of_b = coarse_cast_of(change.of_b, *change.b, types_b);
    if ((of_a == nullptr) == (of_b == nullptr)) continue;
    const Node& cast = of_a != nullptr ? *of_a : *of_b;
    const DataType to = (of_a != nullptr ? types_a : types_b).of(*cast.output(0));
    if (!selects_beyond(*cast.output(0), 1 / unit_roundoff(to), constants)) continue;
    return {
        {.text = said_of(cast, of_a != nullptr) + " positions in a table that has more rows than " + std::string(name_of(to)) + " holds",
         .node = reported_name(cast)}};
  }
  for (const LayerResult& layer : evidence.fed(Feeding::odd)) {
    const Change* const change = changes.of_b(layer.tensor);
    const Node* const cast = change == nullptr || !convicts(layer) ? nullptr : cast_of(*change);
    if (cast == nullptr) continue;
    const bool is_of_a = &cast->graph().model() == pair.a.model.get();
    const DataType to = (is_of_a ? types_a : types_b).of(*cast->output(0));
    return {{.text = said_of(*cast, is_of_a) + " integers that " + std::string(name_of(to)) + " does not hold, node " + quote(layer.node) +
                     " (" + escape(layer.op_type) +
                     ") then gives a different result, and no sample has so large ones (--input gives your own)",
             .node = reported_name(*cast)}};
  }
  return {};
}

}  // namespace relayout
