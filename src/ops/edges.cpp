// Follows a value downstream to the nodes that end, or change without limit, at a number: logarithms, roots, divisors.
#include "ops/edges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "model/domains.h"
#include "model/float_elements.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr std::size_t kMostReaders = 64;

/// Operators whose input 0 ends, or changes without limit, at a number: sorted.
constexpr auto kEdged =
    std::to_array<std::string_view>({"Acos", "Acosh", "Asin", "Atanh", "Log", "LpNormalization", "Reciprocal", "ReduceLogSum", "Sqrt"});
static_assert(std::ranges::is_sorted(kEdged));

/// Whether a power is smooth at 0: its exponent is a positive whole number.
bool has_whole_exponent(const Node& node, Constants& constants) {
  const Value* const exponent = node.input(1);
  if (exponent == nullptr) return false;
  const auto found = constants.find(*exponent);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant == nullptr || !is_scalable(constant->type) || element_count(constant->dims) != 1) return false;
  const std::vector<double> values = reals_of(constant->load());
  return values[0] >= 1 && values[0] == std::floor(values[0]);
}

bool is_edge(const Node& node, std::size_t input, Constants& constants) {
  // What a function computes is not followed.
  if (!node.domain().empty()) return node.domain() != kMicrosoftDomain;
  if (arithmetic_of(node) == Arithmetic::divide) return input == 1;
  if (input != 0) return false;
  if (node.is("Pow")) return !has_whole_exponent(node, constants);
  return std::ranges::binary_search(kEdged, std::string_view(node.op_type()));
}

/// Whether a small change of this input is a small change of the result, and 0 no other thing than a small number.
bool keeps_small(const Node& node, std::size_t input) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(input)) return true;
  if (traits.arithmetic() != Arithmetic::none) return traits.arithmetic() != Arithmetic::divide || input == 0;
  if (input != 0) return traits.has(Trait::multiplies);
  return traits.has(Trait::casts) || traits.has(Trait::clips) || traits.has(Trait::homogeneous) || traits.has(Trait::averages) ||
         traits.has(Trait::pools) || traits.has(Trait::multiplies) || node.is("Pow") || node.op_type().starts_with("Reduce");
}

class EdgeSearch {
 public:
  explicit EdgeSearch(Constants& constants) : constants_(constants) {}

  EdgeDownstream follow(const Value& value, bool has_multiplied) {
    EdgeDownstream best = value.is_output() ? outside(value, has_multiplied) : EdgeDownstream();
    for (const Use& use : value.uses()) {
      const Node& node = *use.node;
      const auto input = as_size(use.index);
      if (best.way == EdgeWay::elementwise || seen_.size() >= kMostReaders) return best;
      if (is_edge(node, input, constants_)) return {has_multiplied ? EdgeWay::through_products : EdgeWay::elementwise, &node};
      const bool multiplies = has_trait(node, Trait::multiplies);
      if (!keeps_small(node, input) || (multiplies && has_multiplied) || !seen_.insert(&node).second) continue;
      for (const Value* const output : node.outputs()) {
        if (output == nullptr) continue;
        const EdgeDownstream found = follow(*output, has_multiplied || multiplies);
        if (found.way > best.way) best = found;
      }
    }
    return best;
  }

 private:
  /// The way from an output of a function, whose callers may have an edge, or of a branch of an If.
  EdgeDownstream outside(const Value& output, bool has_multiplied) {
    EdgeDownstream best;
    const Graph& graph = output.graph();
    if (graph.is_function()) return {has_multiplied ? EdgeWay::through_products : EdgeWay::elementwise, nullptr};
    const Node* const owner = graph.owner();
    if (owner == nullptr || !owner->is("If")) return best;
    for (std::size_t k = 0; k < graph.outputs().size(); ++k) {
      if (graph.outputs()[k] != &output || owner->output(k) == nullptr) continue;
      const EdgeDownstream found = follow(*owner->output(k), has_multiplied);
      if (found.way > best.way) best = found;
    }
    return best;
  }

  Constants& constants_;
  std::unordered_set<const Node*> seen_;
};

}  // namespace

EdgeDownstream edge_downstream(const Value& value, Constants& constants) {
  return EdgeSearch(constants).follow(value, false);
}

}  // namespace relayout
