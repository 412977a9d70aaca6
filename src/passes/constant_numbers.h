#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "ops/constants.h"
#include "passes/match.h"
#include "passes/rounding.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Numbers of constants on their way through a graph, and the effect of another floating-point type on them. Nodes are noted in graph
/// order. Refers to `constants`.
class ConstantNumbers {
 public:
  ConstantNumbers(Constants& constants, DataType target) : constants_(constants), target_(target) {}
  ConstantNumbers(const ConstantNumbers&) = delete;
  ConstantNumbers& operator=(const ConstantNumbers&) = delete;

  /// Whether a value is computed from constants alone: it is stored, or an output of a node that was noted.
  [[nodiscard]] bool is_constant(const Value& value) const { return value.is_stored_constant() || made_.contains(&value); }
  /// Whether run-time operands decide which constants the node outputs: rows of a table picked by ids, dims filled with a number.
  [[nodiscard]] bool depends_on_run(const Node& node) const;
  /// Notes a node that computes from constants alone.
  void note_constant(const Node& node);

  /// The effect of the target type on a stored or computed constant of numbers; nothing for any other value.
  [[nodiscard]] std::optional<Rounding> rounding(const Value& value);
  /// The reason to keep the type of these operands: a constant among them would leave the target's range or vanish.
  [[nodiscard]] std::optional<Skip> harm(std::span<const Value* const> operands);

 private:
  Constants& constants_;
  DataType target_;
  std::unordered_map<const Value*, std::optional<Rounding>> roundings_;
  std::unordered_set<const Value*> made_;    ///< outputs of noted nodes
  std::unordered_set<const Value*> chosen_;  ///< of these, those whose numbers depend on run-time operands
};

}  // namespace relayout::passes
