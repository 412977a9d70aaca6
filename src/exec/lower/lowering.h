#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/inference.h"
#include "exec/layout_guide.h"
#include "exec/lower/group.h"
#include "exec/lower/order.h"
#include "exec/lower/places.h"
#include "exec/lower/step_writer.h"
#include "exec/lower/value_facts.h"
#include "exec/plan.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "relayout/execute.h"

namespace relayout::exec {

struct LoweringSettings {
  Mode mode = Mode::optimized;
  int threads = 1;
  PrimitiveLibrary* library = nullptr;  ///< null in reference mode
  bool few_runs = false;                ///< see ExecuteOptions
  bool observe = false;                 ///< observers may overwrite the values that they are shown: no value is a view of another
  /// Nodes that get memory for their outputs and no step that computes them; null: none.
  const std::function<bool(const Node&)>* leave_out = nullptr;
};

/// State shared by the functions that lower a group: facts, decisions, places of values, and the plan to write.
struct Lowering {
  const LoweringSettings& settings;
  const Program& program;
  const Inference& inference;
  const ValueFacts& facts;
  const LayoutGuide& guide;
  Places& places;
  StepWriter& steps;

  [[nodiscard]] bool optimized() const noexcept { return settings.mode == Mode::optimized; }
  [[nodiscard]] PrimitiveLibrary& library() const noexcept { return *settings.library; }
  [[nodiscard]] ConstantStore& store() const noexcept { return facts.store; }
  [[nodiscard]] const DatumInfo& info(ValueId value) const { return facts.info(value); }
  [[nodiscard]] bool is_tensor(ValueId value) const { return facts.is_tensor(value); }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(ValueId value) const { return facts.constant(value); }
  /// Whether a node runs in this plan (or is folded), not after it.
  [[nodiscard]] bool is_in_plan(NodeId node) const noexcept { return node < inference.next; }
  /// Whether convolutions and similar operators run channels-last; nothing when the plan leaves it to the order of the operands.
  [[nodiscard]] std::optional<Order> planned_order(const ProgramNode& node) const;
  /// The planned order of a node's result; nothing when that follows from its operands.
  [[nodiscard]] std::optional<layout::AxisOrder> made(const ProgramNode& node, std::size_t output) const {
    return guide.made(node.id, output);
  }
  /// A new tensor for a node's result: in the planned order, else in `otherwise`.
  [[nodiscard]] TensorDesc result_desc(const ProgramNode& node, std::size_t output, Order otherwise) const;
};

/// A plan of the groups, which consist of the nodes from `first` on that `inference` left to run. `guide` decides the orders of tensors.
[[nodiscard]] std::unique_ptr<Plan> lower(const Program& program, NodeId first, const Inference& inference, const ValueFacts& facts,
                                          const LayoutGuide& guide, const std::vector<Group>& groups, const LoweringSettings& settings);

/// One line per operator with something better than the op table's kernel. A function that declines returns false and has emitted nothing.
struct LoweringEntry {
  std::string_view op_type;
  bool (*lower)(Lowering&, const Group&);
  bool any_outputs = false;  ///< also lowers nodes whose first output is not needed
};
[[nodiscard]] const LoweringEntry* find_lowering(std::string_view op_type);
/// Lowers a node to the op table's kernel, or to views.
void lower_own(Lowering& lowering, const ProgramNode& node);

}  // namespace relayout::exec
