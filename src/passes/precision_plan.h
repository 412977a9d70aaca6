#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/element_types.h"
#include "ops/op_signature.h"
#include "passes/magnitudes.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rounding.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Which operands and results change their floating-point type, and why others do not. Only reads.
///
/// Of a node the type variables of its signature change that hold the source type (float32; float16 and bfloat16 when the target is
/// float32), so that what must be equal stays equal. When narrowing, a node keeps its type where it is fragile (see fragile.h), where its
/// operator does not take the target, where a constant would leave the target's range or vanish, also one that arrives through other nodes
/// as those of masks do, and where it only carries on between nodes that keep theirs: a Cast would buy nothing. Constants follow their
/// readers, and so do rows of constants that ids pick, up to the first product.
class PrecisionPlan {
 public:
  PrecisionPlan(Graph& graph, PassContext& context);

  /// The type a value had.
  [[nodiscard]] DataType before(const Value& value) const { return types_.of(value); }
  /// The type it is made in.
  [[nodiscard]] DataType after(const Value& value) const;
  /// The type in which this reader takes it; undefined when any will do.
  [[nodiscard]] DataType wanted(const Use& use) const;
  /// Whether the type of what an initializer, a Constant or a Cast makes changes.
  [[nodiscard]] bool is_retyped(const Value& value) const { return retyped_.contains(&value); }
  /// What rounding does to an initializer or Constant that changes its type.
  [[nodiscard]] const Rounding* rounding(const Value& value) const;
  /// Nodes in order: what each is done, or why not.
  [[nodiscard]] const std::vector<std::pair<const Node*, std::optional<Skip>>>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] DataType target() const noexcept { return target_; }

 private:
  /// Changes the node, keeps it, or leaves it until its readers are known.
  void decide(Node& node);
  [[nodiscard]] bool depends_on_run(const Node& node) const;
  void note_constants(const Node& node);
  void settle_constants();
  void settle_leaves(Graph& graph);
  [[nodiscard]] bool is_source(DataType type) const;
  [[nodiscard]] bool narrows() const { return target_ != DataType::float32; }
  /// A bit for each type variable that would change; 0 with a reason where none may.
  [[nodiscard]] uint64_t changeable(const Node& node, std::optional<Skip>& skip);
  /// A constant among the operands that change which would leave the target's range or vanish.
  [[nodiscard]] std::optional<Skip> harm_of_constants(const Node& node, uint64_t variables);
  /// An operand that changes and holds, or would bring into a sum, what leaves the target's range.
  [[nodiscard]] std::optional<Skip> harm_of_magnitudes(const Node& node, uint64_t variables) const;
  [[nodiscard]] bool is_constant(const Value& value) const;
  [[nodiscard]] bool carries_on(const Node& node) const;
  [[nodiscard]] bool is_fixed_leaf(const Value& value);
  /// All readers take the target, one at least asks for it, and nothing else reads the value.
  [[nodiscard]] bool only_target_is_wanted(const Value& value) const;
  [[nodiscard]] std::optional<Rounding> scan(const Value& value);

  PassContext& context_;
  mutable OpSignatures signatures_;  ///< remembers what it was asked
  ElementTypes types_;
  DataType target_;
  Magnitudes magnitudes_;
  std::unordered_map<const Node*, uint64_t> changed_;  ///< bits of the type variables that change
  std::unordered_set<const Value*> retyped_;
  std::unordered_set<const Value*> constants_;  ///< whose numbers come from constants alone, through nodes
  std::unordered_set<const Value*> chosen_;     ///< of these, where operands of other types decide which numbers
  std::vector<std::pair<Node*, uint64_t>> waiting_;
  std::unordered_map<const Value*, Rounding> roundings_;
  std::unordered_map<const Value*, std::optional<Rounding>> scanned_;
  std::vector<std::pair<const Node*, std::optional<Skip>>> nodes_;
};

}  // namespace relayout
