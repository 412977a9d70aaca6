// Constants that --precision keeps in 32 bits for their own elements: beyond the range of the 16-bit type, or all vanishing in it (large
// ones that reach other nodes: magnitudes.cpp). They are followed through the nodes that compute from constants alone.
#include "passes/constant_numbers.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/numbers.h"
#include "base/text.h"
#include "ops/constants.h"
#include "passes/match.h"
#include "passes/rounding.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

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

std::optional<Skip> ConstantNumbers::harm(std::span<const Value* const> operands) {
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

}  // namespace relayout::passes
