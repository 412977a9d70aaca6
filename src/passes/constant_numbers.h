#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "ops/constants.h"
#include "ops/element_types.h"
#include "passes/magnitudes.h"
#include "passes/match.h"
#include "passes/rounding.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The numbers of constants on their way through a graph, and what another floating-point type would do to them. Nodes come in graph
/// order. Refers to `types` and `constants`.
class ConstantNumbers {
 public:
  ConstantNumbers(const ElementTypes& types, Constants& constants, DataType target);
  ConstantNumbers(const ConstantNumbers&) = delete;
  ConstantNumbers& operator=(const ConstantNumbers&) = delete;

  /// Whether the numbers of a value come from constants alone: it is stored, or made by a node that was noted.
  [[nodiscard]] bool is_constant(const Value& value) const { return value.is_stored_constant() || made_.contains(&value); }
  /// Whether the run decides which of the constants a node makes: rows of a table by ids that come in, a filling of dims that do.
  [[nodiscard]] bool depends_on_run(const Node& node) const;
  /// The node makes numbers of constants alone.
  void note_constant(const Node& node);
  /// Any node: constants that it hands on drive its results as far from 0 as its operands.
  void note_magnitude(const Node& node) { magnitudes_.note(node); }

  /// The effect of the target type on a stored or computed constant of numbers; nothing of any other value.
  [[nodiscard]] std::optional<Rounding> rounding(const Value& value);
  /// A constant among these operands that would leave the target's range or vanish, as the reason to keep their type.
  [[nodiscard]] std::optional<Skip> harm_by_rounding(std::span<const Value* const> operands);
  /// One of these operands of a node holds, or would bring into a sum, what constants drive out of the target's range.
  [[nodiscard]] std::optional<Skip> harm_by_magnitude(const Node& node, std::span<const Value* const> operands) const;

 private:
  Constants& constants_;
  DataType target_;
  std::unordered_map<const Value*, std::optional<Rounding>> roundings_;
  std::unordered_set<const Value*> made_;    ///< through nodes
  std::unordered_set<const Value*> chosen_;  ///< of these, where operands of other types decide which numbers
  Magnitudes magnitudes_;
};

}  // namespace relayout::passes
