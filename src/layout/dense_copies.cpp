// Finds views with gaps that a reader needs dense, and adds their copies to a plan.

#include "base/indexed.h"
#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "layout/ports.h"
#include "ops/loops/strided.h"
#include "ops/op.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

/// Follows views downstream, and checks the needs of their readers.
class Gaps {
 public:
  Gaps(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan)
      : graph_(graph), connections_(connections), plan_(plan), strides_(graph.values.size()) {}

  std::vector<LayoutValueId> run() {
    for (const LayoutNodeId id : graph_.nodes.ids()) follow(id);
    std::vector<LayoutValueId> out;
    for (const LayoutValueId id : strides_.ids()) {
      if (strides_[id] && needs_pack(id)) out.push_back(id);
    }
    return out;
  }

 private:
  [[nodiscard]] const LayoutValue& value(LayoutValueId id) const { return graph_.values[id]; }
  [[nodiscard]] const AxisOrder& held(LayoutValueId id) const { return plan_.held[id]; }
  [[nodiscard]] AxisOrder held_order(LayoutValueId id) const {
    return held(id).empty() ? order_of(contiguous_axes(value(id).dims.size()), value(id).dims) : held(id);
  }

  /// The strides with which a node reads its first operand: the operand's own, or those of a dense copy in the order that it wants.
  [[nodiscard]] Dims strides_read(LayoutNodeId node, LayoutValueId id) const {
    const auto wanted = plan_.wanted(graph_, node, 0);
    if (wanted && *wanted != held_order(id)) return strides_of(*wanted, value(id).dims);
    const auto& strides = strides_[id];
    return strides ? *strides : strides_of(held(id), value(id).dims);
  }

  /// Notes the strides of a view's results that are not dense in their planned order.
  void follow(LayoutNodeId index) {
    const LayoutNode& node = graph_.nodes[index];
    if (!is_view(node) || node.op->name == "Expand") return;
    const LayoutValue* const x = graph_.value(node.input(0));
    if (x == nullptr || !x->is_known() || x->is_constant) return;
    const Dims strides = strides_read(index, node.input(0));
    for (const LayoutValueId output : node.outputs) {
      if (output == LayoutValueId::none || !value(output).is_known()) continue;
      const auto seen = viewed(node, *x, strides, value(output).dims);
      if (!seen || element_count(value(output).dims) == 0) continue;
      const auto order = order_of_strides(value(output).dims, *seen);
      const bool in_order = order == held_order(output);
      // The node itself produces a planned order that strides do not give.
      if (plan_.has_order[output] && !in_order) continue;
      if (!in_order || !is_dense(value(output).dims, *seen)) strides_[output] = *seen;
    }
  }

  static std::optional<Dims> viewed(const LayoutNode& node, const LayoutValue& x, const Dims& strides, const Dims& dims) {
    const Traits traits = node.op->traits;
    const bool renames_dims = traits.has(Trait::keeps_order) && !traits.has(Trait::same_dims);
    if (renames_dims) return reshape_strides(TensorDesc{x.type, x.dims, strides}, dims);
    if (node.op->name != "Transpose") return dims.size() == strides.size() ? std::optional(strides) : std::nullopt;
    const auto permutation = permutation_of(*node.node, x.dims.size());
    if (!permutation) return std::nullopt;
    Dims out;
    for (const int64_t axis : *permutation) out.push_back(element_at(strides, axis));
    return out;
  }

  [[nodiscard]] bool needs_pack(LayoutValueId id) const {
    return std::ranges::any_of(connections_.reads(id), [&](const Connections::Read& read) {
      const auto wanted = plan_.wanted(graph_, read.node, read.input);
      if (wanted && *wanted != held_order(id)) return false;
      return needs_dense(graph_.nodes[read.node], read.input, *strides_[id]);
    });
  }

  /// Whether a kernel needs a dense copy of an operand with these strides.
  [[nodiscard]] bool needs_dense(const LayoutNode& node, std::size_t input, const Dims& strides) const {
    if (node.op == nullptr) return true;
    const Traits traits = node.op->traits;
    const LayoutValue& x = value(node.input(input));
    if (traits.has(Trait::linear) && !traits.convolution_weight())
      return x.type != DataType::float32 || input > 1 || !is_matrix(x.dims, strides) || is_stack(node, input);
    if (node.op->layout == LayoutRule::barrier) return true;
    return input == 0 && x.type == DataType::float32 && traits.has(Trait::dense);
  }

  /// Whether one of the last two dims is dense.
  static bool is_matrix(const Dims& dims, const Dims& strides) {
    if (dims.size() < 2) return false;
    const std::size_t last = dims.size() - 1;
    const int64_t row = strides[last - 1], column = strides[last];
    return ((column == 1 || dims[last] == 1) && row >= dims[last]) || ((row == 1 || dims[last - 1] == 1) && column >= dims[last - 1]);
  }
  /// Whether many matrices are multiplied by one: their rows are one long matrix.
  [[nodiscard]] bool is_stack(const LayoutNode& node, std::size_t input) const {
    const LayoutValue* const other = graph_.value(node.input(1));
    return input == 0 && value(node.input(0)).dims.size() > 2 && other != nullptr && other->dims.size() == 2;
  }

  const LayoutGraph& graph_;
  const Connections& connections_;
  const LayoutPlan& plan_;
  IdVector<LayoutValueId, std::optional<Dims>> strides_;  ///< of values that are not dense in their planned order
};

}  // namespace

std::vector<LayoutValueId> find_packs(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan) {
  return Gaps(graph, connections, plan).run();
}

}  // namespace relayout::layout
