#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The range of numbers that were integers: results of a Cast from an integer type and of Range, moved, scaled by constants and added up.
/// The accumulators of a product of quantized numbers, positions and counts fill the range of their type, activations do not. A product
/// with an activation, such as a run-time scale, ends the way: its result is an activation. Nodes are noted in graph order.
class IntegerRanges {
 public:
  IntegerRanges(const ElementTypes& types, Constants& constants, DataType target) : types_(types), constants_(constants), target_(target) {}
  IntegerRanges(const IntegerRanges&) = delete;
  IntegerRanges& operator=(const IntegerRanges&) = delete;

  void note(const Node& node);
  /// The reason to keep the type of these operands of a node: they were integers, or its results are sums of such, and nothing tells that
  /// the target holds them.
  [[nodiscard]] std::optional<Skip> harm(const Node& node, std::span<const Value* const> operands);

 private:
  struct Range {
    Bounds bounds;
    bool was_integer = false;
  };
  [[nodiscard]] Range of(const Value& value);
  [[nodiscard]] Range of_result(const Node& node);
  [[nodiscard]] Range combined(const Node& node);
  [[nodiscard]] Range of_sum(const Node& node, const Range& operand);

  const ElementTypes& types_;
  Constants& constants_;
  DataType target_;
  std::unordered_map<const Value*, Range> known_;
};

/// Nodes whose last bits decide about results by what they feed, not by their operator alone: 16 bits lose there what no later node brings
/// back. They are the operands of logarithms, up to the transform and the samples behind a power spectrum; such levels over a power of
/// their means; differences of close numbers, such as E[x²] − E[x]², with the products and means in them; squares that are summed; what a
/// guard keeps off 0 where it vanishes in the type.
class DecidingBits {
 public:
  DecidingBits(Graph& graph, PassContext& context, DataType target);

  /// Why a node stays in 32 bits; empty where nothing of this kind does.
  [[nodiscard]] std::string_view reason(const Node& node) const;

 private:
  std::unordered_map<const Node*, std::string_view> reasons_;
};

/// Why an operand of a node stays in 32 bits, with all operands of its type; empty when 16 bits do.
[[nodiscard]] std::string_view fragile_reason(const Node& node, std::size_t input);

/// Whether ONNX Runtime takes 16 bits for this node when it loads a model, and then fails to run it on the CPU. (It casts where it has no
/// kernel for f16 at all. bf16 it runs for few operators.)
[[nodiscard]] bool lacks_kernel(const Node& node);

/// Source and target types of a conversion.
struct TypeChange {
  DataType target;  ///< float16, bfloat16, or float32 instead of both
  [[nodiscard]] bool narrows() const noexcept { return target != DataType::float32; }
  [[nodiscard]] bool is_source(DataType type) const noexcept { return narrows() ? type == DataType::float32 : kHalfTypes.has(type); }
};

/// Which operands and results change their floating-point type, and why others do not. Only reads.
///
/// Of a node's signature the type variables change that have the source type (float32; float16 and bfloat16 when the target is float32), so
/// that types that must be equal stay equal. When narrowing, a node keeps its type in four cases. It is fragile (see fragile_reason above,
/// and DecidingBits for what it feeds). Its operator does not take the target. A constant would leave the target's range or vanish, also
/// one that arrives through other nodes, as those of masks do; or numbers that were integers might leave it. It is between nodes that keep
/// their type, so that a Cast would gain nothing. Constants follow their readers. So do rows of constants picked by ids, up to the first
/// product.
class PrecisionPlan {
 public:
  PrecisionPlan(Graph& graph, PassContext& context);

  /// The type of the value in the model.
  [[nodiscard]] DataType before(const Value& value) const { return types_.of(value); }
  /// The type in which it will be computed.
  [[nodiscard]] DataType after(const Value& value) const;
  /// The type in which this reader will take it; undefined when any will do.
  [[nodiscard]] DataType wanted(const Use& use) const;
  /// Whether the value of an initializer, a Constant or a Cast changes its type.
  [[nodiscard]] bool is_retyped(const Value& value) const { return retyped_.contains(&value); }
  /// The effect of rounding on an initializer or Constant that changes its type.
  [[nodiscard]] const Rounding* rounding(const Value& value) const;
  /// Nodes in order, with the reason for those that keep their type.
  [[nodiscard]] const std::vector<std::pair<const Node*, std::optional<Skip>>>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] DataType target() const noexcept { return change_.target; }

 private:
  /// Changes the node, keeps it, or leaves it until its readers are known.
  void decide(Node& node);
  void settle_constants();
  void settle_leaves(Graph& graph);
  /// The operands of the node that change with these type variables.
  [[nodiscard]] std::vector<const Value*> changing_operands(const Node& node, uint64_t variables) const;
  /// Why a node keeps its type when the target is narrower.
  [[nodiscard]] std::optional<Skip> reason_to_keep(const Node& node, std::span<const Value* const> operands);
  [[nodiscard]] bool carries_on(const Node& node) const;
  /// Whether all readers take the target, at least one requires it (when narrowing), and the value is not an output.
  [[nodiscard]] bool only_target_is_wanted(const Value& value) const;

  PassContext& context_;
  mutable OpSignatures signatures_;  ///< caches its answers
  ElementTypes types_;
  TypeChange change_;
  ConstantNumbers numbers_;
  Magnitudes magnitudes_;
  IntegerRanges integers_;
  std::optional<DecidingBits> deciding_;               ///< when narrowing
  std::unordered_map<const Node*, uint64_t> changed_;  ///< bits of the type variables that change
  std::unordered_set<const Value*> retyped_;
  std::vector<std::pair<Node*, uint64_t>> waiting_;
  std::unordered_map<const Value*, Rounding> roundings_;  ///< of retyped values
  std::vector<std::pair<const Node*, std::optional<Skip>>> nodes_;
};

}  // namespace relayout::passes
