// Finds the constants that keep operands off the ends of domains (1e-9 in front of a Log), and those that a fold would round away.

#include "passes/guards.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "model/float_elements.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/traits.h"
#include "passes/affine.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Readers that are looked at: guards stand close to what they guard.
constexpr std::size_t kMostReaders = 64;

/// Operators whose input 0 ends, or changes without limit, at a number: sorted.
constexpr auto kEdged =
    std::to_array<std::string_view>({"Acos", "Acosh", "Asin", "Atanh", "Log", "LpNormalization", "Reciprocal", "ReduceLogSum", "Sqrt"});
static_assert(std::ranges::is_sorted(kEdged));

/// Whether a power is smooth at 0: its exponent is a positive whole number.
bool has_whole_exponent(const Node& node, PassContext& context) {
  const Value* const exponent = node.input(1);
  if (exponent == nullptr) return false;
  const auto found = context.constants.find(*exponent);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant == nullptr || !is_scalable(constant->type) || element_count(constant->dims) != 1) return false;
  const std::vector<double> values = reals_of(constant->load());
  return values[0] >= 1 && values[0] == std::floor(values[0]);
}

bool is_edge(const Node& node, std::size_t input, PassContext& context) {
  if (!node.domain().empty()) return false;
  if (arithmetic_of(node) == Arithmetic::divide) return input == 1;
  if (input != 0) return false;
  if (node.is("Pow")) return !has_whole_exponent(node, context);
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

/// The way from a value to an edge.
enum class Way : uint8_t { none, through_products, elementwise };

class EdgeSearch {
 public:
  explicit EdgeSearch(PassContext& context) : context_(context) {}

  Way follow(const Value& value, bool has_multiplied) {
    Way best = Way::none;
    for (const Use& use : value.uses()) {
      const Node& node = *use.node;
      const auto input = as_size(use.index);
      if (seen_.size() >= kMostReaders) return best;
      if (is_edge(node, input, context_)) return has_multiplied ? Way::through_products : Way::elementwise;
      const bool multiplies = has_trait(node, Trait::multiplies);
      if (!keeps_small(node, input) || (multiplies && has_multiplied) || !seen_.insert(&node).second) continue;
      for (const Value* const output : node.outputs()) {
        if (output != nullptr) best = std::max(best, follow(*output, has_multiplied || multiplies));
      }
      if (best == Way::elementwise) return best;
    }
    return best;
  }

 private:
  PassContext& context_;
  std::unordered_set<const Node*> seen_;
};

/// What an affine adds in a channel.
double addend(const Affine& affine, std::size_t channel) {
  return affine.apply(channel, 0);
}

/// Whether fewer than half of the bits of `part` are left in `sum`.
bool is_lost(double part, double sum, DataType type) {
  return part != 0 && std::fabs(part) < std::ldexp(spacing_at(type, std::fabs(sum)), (traits(type).fraction_bits + 1) / 2);
}

}  // namespace

const AffineNode* lost_guard(const std::vector<AffineNode>& affines, const std::vector<double>& bias, std::size_t channels, DataType type,
                             PassContext& context) {
  // The largest shift of later affines, and the product of their factors, by channel.
  std::vector<double> later(channels, 0.0), factor(channels, 1.0);
  for (std::size_t k = affines.size(); k-- > 0;) {
    const AffineNode& affine = affines[k];
    bool is_somewhere_lost = false, is_everywhere_small = true;
    double largest = 0;
    for (const double sum : bias) largest = std::max(largest, std::fabs(sum));
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const std::size_t c = i % channels;
      const double part = addend(*affine.affine, c) * factor[c];
      is_somewhere_lost = is_somewhere_lost || (is_lost(part, bias[i], type) && !is_lost(part, later[c], type));
      is_everywhere_small = is_everywhere_small && (part == 0 || is_lost(part, largest, type));
    }
    if (is_somewhere_lost && !affine.node->is("BatchNormalization")) {
      const Way way = EdgeSearch(context).follow(*affine.node->output(0), false);
      if (way == Way::elementwise || (way == Way::through_products && is_everywhere_small)) return &affine;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      later[c] = std::max(later[c], std::fabs(addend(*affine.affine, c) * factor[c]));
      factor[c] *= affine.affine->scale_at(c);
    }
  }
  return nullptr;
}

}  // namespace relayout::passes
