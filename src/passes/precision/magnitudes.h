#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The effect of a narrower type on a tensor's elements.
struct Rounding {
  int64_t count = 0;      ///< elements
  int64_t infinite = 0;   ///< finite ones that leave the range
  int64_t zero = 0;       ///< of those that are not 0: become 0
  int64_t subnormal = 0;  ///< of those that are not 0: keep only some of the type's bits
  int64_t normal = 0;     ///< of those that are not 0: keep all of the type's bits
  double largest = 0;     ///< finite magnitude

  /// All nonzero elements within the range would become zero or subnormal.
  [[nodiscard]] bool vanishes() const noexcept { return normal == 0 && zero + subnormal > 0; }
};

/// The magnitude from which on numbers round to infinity in a type of 16 bits (or in float32).
[[nodiscard]] double overflow_of(DataType type);

/// Reads the tensor once, in pieces.
[[nodiscard]] Rounding rounding_of(const TensorData& data, DataType type);

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
