// Compares nested graphs by structure where types and Casts of real numbers do not count.
#include "verify/compare/retyped_graphs.h"

#include <cmath>

#include "model/node.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/pairing.h"
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

}  // namespace

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

}  // namespace relayout
