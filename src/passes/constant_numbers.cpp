// Constants that --precision keeps in 32 bits: elements beyond the range of the 16-bit type, tensors that vanish in it, masks whose sums
// may leave half of its range. Constants are followed through the nodes that compute from constants alone.
#include "passes/constant_numbers.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/numbers.h"
#include "base/text.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "passes/match.h"
#include "passes/rounding.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

ConstantNumbers::ConstantNumbers(const ElementTypes& types, Constants& constants, DataType target)
    : constants_(constants), target_(target), magnitudes_([this, &types](const Value& value) {
        const auto found = TypeSet{DataType::float32, DataType::float64}.has(types.of(value)) ? rounding(value) : std::nullopt;
        return found ? found->largest : 0;
      }) {}

bool ConstantNumbers::depends_on_run(const Node& node) const {
  return std::ranges::any_of(node.inputs(), [&](const Value* value) {
    return value != nullptr && !value->is_stored_constant() && (!made_.contains(value) || chosen_.contains(value));
  });
}

void ConstantNumbers::note_constant(const Node& node) {
  const bool is_chosen = depends_on_run(node);
  for (const Value* output : node.outputs()) {
    if (output == nullptr) continue;
    made_.insert(output);
    if (is_chosen) chosen_.insert(output);
  }
}

std::optional<Rounding> ConstantNumbers::rounding(const Value& value) {
  const auto [entry, is_new] = roundings_.try_emplace(&value);
  if (!is_new) return entry->second;
  const auto found = constants_.find(value);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant != nullptr && constant->type != DataType::string) entry->second = rounding_of(constant->data, target_);
  return entry->second;
}

std::optional<Skip> ConstantNumbers::harm_by_rounding(std::span<const Value* const> operands) {
  for (const Value* const value : operands) {
    const auto found = is_constant(*value) ? rounding(*value) : std::nullopt;
    if (!found) continue;
    if (found->infinite > 0) {
      return Skip{Reason::overflow, quote(value->name()) + ": " + format_count(found->infinite) + " of " + format_count(found->count) +
                                        " beyond the range of " + std::string(name_of(target_))};
    }
    if (found->vanishes()) return Skip{Reason::underflow, quote(value->name()) + " vanishes in " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

std::optional<Skip> ConstantNumbers::harm_by_magnitude(const Node& node, std::span<const Value* const> operands) const {
  // A score of −20 plus a mask of −65504 is −65524, beyond the range of float16: each term may use half of the range.
  const double range = overflow_of(target_);
  const Arithmetic arithmetic = arithmetic_of(node);
  const double room = arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract ? range / 2 : range;
  for (const Value* const value : operands) {
    const double magnitude = magnitudes_.of(*value);
    if (magnitude < room) continue;
    return Skip{Reason::overflow, quote(value->name()) +
                                      (magnitude < range ? " holds a constant whose sums may leave" : " holds a constant beyond") +
                                      " the range of " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

}  // namespace relayout::passes
