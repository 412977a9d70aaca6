#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "ops/element_types.h"
#include "passes/constant_numbers.h"
#include "passes/match.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The distance from 0 to which constants drive the elements of a value: those that it contains, moved, cast, chosen by a condition,
/// negated, added, subtracted or multiplied. Activations are not counted: a mask of −3.4e38 counts, a score added to it does not. Refers to
/// `types` and `numbers`.
class Magnitudes {
 public:
  Magnitudes(const ElementTypes& types, ConstantNumbers& numbers, DataType target) : types_(types), numbers_(numbers), target_(target) {}
  Magnitudes(const Magnitudes&) = delete;
  Magnitudes& operator=(const Magnitudes&) = delete;

  /// Notes that results of a node are as far from 0 as the constants that it passes on from its operands. To be called in graph order.
  void note(const Node& node);
  /// The reason to keep the type of these operands of a node: constants drive one of them, or a sum with it, out of the target's range.
  [[nodiscard]] std::optional<Skip> harm(const Node& node, std::span<const Value* const> operands) const;

 private:
  [[nodiscard]] double of(const Value& value) const;

  const ElementTypes& types_;
  ConstantNumbers& numbers_;
  DataType target_;
  std::unordered_map<const Value*, double> known_;  ///< not of stored constants
};

}  // namespace relayout::passes
