#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/indexed.h"
#include "layout/axis_order.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {

enum class LayoutValueId : int { none = -1 };  ///< a value of a layout graph
enum class LayoutNodeId : int { none = -1 };   ///< a node of a layout graph

/// A value of a layout plan. Only tensors of known dims take part.
struct LayoutValue {
  const Value* value = nullptr;
  DataType type = DataType::undefined;  ///< undefined: nothing is known, or not a tensor
  Dims dims;
  bool is_constant = false;  ///< known before anything runs: free in every order
  bool is_output = false;    ///< returned to the caller, contiguous unless `fixed`
  /// The order in which a value without a producer comes, and in which an output has to be returned; contiguous when not set.
  std::optional<AxisOrder> fixed;
  std::optional<std::vector<int64_t>> integers = {};  ///< contents of small integer constants
  [[nodiscard]] bool is_known() const noexcept { return type != DataType::undefined && type != DataType::string; }
  [[nodiscard]] int64_t bytes() const;
};

/// Contents of a constant that LayoutValue::integers holds: at most 64 numbers of the types of axes.
[[nodiscard]] std::optional<std::vector<int64_t>> small_integers(const Tensor& constant);

/// Whether a tensor could fit into memory: others are treated as unknown.
[[nodiscard]] bool is_plannable(DataType type, const Dims& dims);

/// A node that runs, with its values (none: absent).
struct LayoutNode {
  const Node* node = nullptr;
  const Op* op = nullptr;  ///< nullptr: the operator is unknown
  std::vector<LayoutValueId> inputs, outputs;
  [[nodiscard]] LayoutValueId input(std::size_t index) const { return index < inputs.size() ? inputs[index] : LayoutValueId::none; }
  [[nodiscard]] LayoutValueId output(std::size_t index) const { return index < outputs.size() ? outputs[index] : LayoutValueId::none; }
};

/// The subject of a layout plan: one graph with the shapes of one run. Nodes in an order in which they can run; those whose results are
/// constant or unused are left out.
struct LayoutGraph {
  IdVector<LayoutNodeId, LayoutNode> nodes;
  IdVector<LayoutValueId, LayoutValue> values;
  [[nodiscard]] const LayoutValue* value(LayoutValueId id) const { return id == LayoutValueId::none ? nullptr : &values[id]; }
};

/// Removes sequences of parts of a tensor that are read only at known positions: their SequenceAt reads the tensor itself afterwards, and
/// SplitToSequence is left without operands and results. Returns for each node the node that replaces it: itself, or for a removed
/// SplitToSequence its first SequenceAt.
IdVector<LayoutNodeId, LayoutNodeId> see_through_sequences(LayoutGraph& graph);

/// The producer and the readers of each value of a layout graph.
class Connections {
 public:
  struct Read {
    LayoutNodeId node = LayoutNodeId::none;
    std::size_t input = 0;
  };
  explicit Connections(const LayoutGraph& graph);
  /// None: the value comes from outside.
  [[nodiscard]] LayoutNodeId producer(LayoutValueId value) const { return producers_[value]; }
  [[nodiscard]] std::size_t output_index(LayoutValueId value) const { return output_indices_[value]; }
  /// In node order, each once per read.
  [[nodiscard]] std::span<const Read> reads(LayoutValueId value) const { return reads_[value]; }

 private:
  IdVector<LayoutValueId, LayoutNodeId> producers_;
  IdVector<LayoutValueId, std::size_t> output_indices_;
  IdLists<LayoutValueId, Read> reads_;
};

/// The only reader of a value, which reads it once; none when there is none.
[[nodiscard]] LayoutNodeId only_reader(const LayoutGraph& graph, const Connections& connections, LayoutValueId value);

}  // namespace relayout::layout
