#pragma once

#include <optional>
#include <vector>

#include "layout/axis_order.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout {

/// A value as a layout plan sees it. Only tensors of known dims take part.
struct LayoutValue {
  const Value* value = nullptr;
  DataType type = DataType::undefined;  ///< undefined: nothing is known, or no tensor
  Dims dims;
  bool is_constant = false;  ///< known before anything runs: free in every order
  bool is_output = false;    ///< a caller gets it, contiguous unless `fixed`
  /// The order in which a value without a producer comes, and an output has to be handed over; contiguous when not set.
  std::optional<AxisOrder> fixed;
  std::optional<std::vector<int64_t>> integers = {};  ///< contents of small integer constants
  [[nodiscard]] bool is_known() const noexcept { return type != DataType::undefined && type != DataType::string; }
  [[nodiscard]] int64_t bytes() const;
};

/// Whether a tensor's size is one that memory could have: others are as good as unknown.
[[nodiscard]] bool is_plannable(DataType type, const Dims& dims);

/// A node that runs, with its values by number (-1: absent).
struct LayoutNode {
  const Node* node = nullptr;
  const Op* op = nullptr;  ///< nullptr: nobody here knows the operator
  std::vector<int> inputs, outputs;
  [[nodiscard]] int input(std::size_t index) const { return index < inputs.size() ? inputs[index] : -1; }
  [[nodiscard]] int output(std::size_t index) const { return index < outputs.size() ? outputs[index] : -1; }
};

/// What a layout is planned for: one graph with the shapes of one run. Nodes in an order in which they can run; those whose results are
/// constant, and those that nobody needs, are left out.
struct LayoutGraph {
  std::vector<LayoutNode> nodes;
  std::vector<LayoutValue> values;
  [[nodiscard]] const LayoutValue* value(int number) const { return number < 0 ? nullptr : &values[static_cast<std::size_t>(number)]; }
};

/// Sequences of parts of a tensor that are only asked for parts at known positions need not exist: their SequenceAt reads the tensor itself
/// afterwards, and SplitToSequence is left without operands and results. Per node that which answers for it: itself, or of a
/// SplitToSequence its first SequenceAt.
std::vector<int> see_through_sequences(LayoutGraph& graph);

}  // namespace relayout
