#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/indexed.h"
#include "layout/layout_graph.h"
#include "layout/ports.h"

namespace relayout::layout {

enum class OperatorId : int { none = -1 };  ///< an operator of a layout's cut: one node of a layout graph or several

/// The choice that a layout plan makes, reduced to numbers. Operators run in mode 0 (every port contiguous) or in mode 1 (each port in an
/// order of its own). A value that a reader needs in another order than it is produced in is copied once per order. Orders are small
/// numbers with a meaning within one value only: 0 is contiguous.
struct LayoutCut {
  /// A value's reader.
  struct Reader {
    OperatorId op = OperatorId::none;  ///< none: `order` is needed whatever is chosen (barriers, graph outputs)
    int order = 0;                     ///< needed in mode 1, or always when there is no op
    bool operator==(const Reader&) const = default;
  };
  struct Value {
    OperatorId op = OperatorId::none;  ///< its producer; none: it comes in `order` whatever is chosen
    int order = 0;                     ///< produced in mode 1, or always when there is no op
    int64_t copy_cost = 0;             ///< of one copy into another order
    std::vector<Reader> readers;
  };
  struct Op {
    int64_t gain = 0;          ///< time in mode 0 − time in mode 1; may be negative
    std::optional<bool> mode;  ///< set when there is no choice
  };
  IdVector<OperatorId, Op> ops;
  std::vector<Value> values;
};

/// The mode of each operator.
using Modes = IdVector<OperatorId, bool>;

/// The modes with the least sum of lost gains and copies; of several, those with the most operators in mode 1 (which are unique).
[[nodiscard]] Modes solve(const LayoutCut& problem);
/// The orders into which a value is copied under these modes, each once.
[[nodiscard]] std::vector<int> copies(const LayoutCut::Value& value, const Modes& modes);
/// The sum of lost gains and copies.
[[nodiscard]] int64_t cost(const LayoutCut& problem, const Modes& modes);

/// The orders that nodes could adopt: convolutions want channels-last, and from there orders spread upstream and downstream until an
/// operator stops them. A node whose ports would all be contiguous has no choice.
struct Orders {
  IdVector<LayoutNodeId, OperatorId> op_of;  ///< the operator that a node is, or is a part of; none: no choice
  IdVector<LayoutNodeId, Ports> ports;       ///< of nodes with a choice
  IdVector<LayoutNodeId, Barrier> barriers;  ///< of nodes that an order reached and that could not adopt it
  IdVector<LayoutNodeId, bool> is_shuffle;   ///< parts of a channel shuffle
  IdVector<LayoutNodeId, bool> is_fused;     ///< parts of the convolution that they are one operator with: they cost nothing
};
[[nodiscard]] Orders find_orders(const LayoutGraph& graph, const Connections& connections);

/// The convolutions that take post-ops, the last first: of several that end in one Add, the last takes it, as in the executor.
[[nodiscard]] std::vector<LayoutNodeId> fusing_convolutions(const LayoutGraph& graph);
/// The node that reads `value`, the result of a convolution (`is_first`) or of a post-op of it, if it runs as a part of that convolution:
/// the only reader, a BatchNormalization right after the convolution, a function of one variable, or a sum with a tensor of the same size.
/// The executor has further conditions (exec/lower/stages.cpp) and may run some of them separately: they cost little then, and have
/// the convolution's order.
[[nodiscard]] LayoutNodeId post_op_of(const LayoutGraph& graph, const Connections& connections, LayoutValueId value, bool is_first);

}  // namespace relayout::layout
