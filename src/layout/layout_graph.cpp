// Keeps the graph that a layout plan works on, in which sequences are replaced by the tensors that they hold.
#include "layout/layout_graph.h"

#include "base/indexed.h"
#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {

int64_t LayoutValue::bytes() const {
  return element_count(dims) * static_cast<int64_t>(memory_size(type));
}

std::optional<std::vector<int64_t>> small_integers(const Tensor& constant) {
  constexpr int64_t kMost = 64;
  if (!kIndexTypes.has(constant.type()) || constant.element_count() > kMost) return std::nullopt;
  return truncated_integers_of(constant);
}

bool is_plannable(DataType type, const Dims& dims) {
  constexpr int64_t kMostBytes = int64_t{1} << 44;
  int64_t bytes = static_cast<int64_t>(std::max<std::size_t>(memory_size(type), 1));
  for (const int64_t dim : dims) {
    const auto product = checked_mul(bytes, std::max<int64_t>(dim, 1));
    if (dim < 0 || !product || *product > kMostBytes) return false;
    bytes = *product;
  }
  return true;
}

IdVector<LayoutNodeId, LayoutNodeId> see_through_sequences(LayoutGraph& graph) {
  IdVector<LayoutNodeId, LayoutNodeId> out(graph.nodes.size());
  for (const LayoutNodeId id : out.ids()) out[id] = id;
  const auto is = [](const LayoutNode& node, std::string_view op_type) { return node.op != nullptr && node.op->name == op_type; };
  if (std::ranges::none_of(graph.nodes, [&](const LayoutNode& node) { return is(node, "SplitToSequence"); })) return out;
  const Connections connections(graph);
  for (const LayoutNodeId id : graph.nodes.ids()) {
    LayoutNode& split = graph.nodes[id];
    const LayoutValue* const sequence = graph.value(split.output(0));
    if (!is(split, "SplitToSequence") || sequence == nullptr || sequence->is_output) continue;
    const auto reads = connections.reads(split.output(0));
    const auto requests_known_part = [&](const Connections::Read& read) {
      const LayoutNode& reader = graph.nodes[read.node];
      const LayoutValue* const position = graph.value(reader.input(1));
      return is(reader, "SequenceAt") && read.input == 0 && position != nullptr && position->is_constant;
    };
    if (reads.empty() || !std::ranges::all_of(reads, requests_known_part)) continue;
    for (const Connections::Read& read : reads) graph.nodes[read.node].inputs[0] = split.inputs[0];
    out[id] = reads.front().node;
    split.op = nullptr;
    split.inputs.clear();
    split.outputs.clear();
  }
  return out;
}

// The producer and the readers of each value.

Connections::Connections(const LayoutGraph& graph)
    : producers_(graph.values.size(), LayoutNodeId::none),
      output_indices_(graph.values.size()),
      reads_(graph.values.size(), [&graph](const auto& add) {
        for (const LayoutNodeId id : graph.nodes.ids()) {
          const LayoutNode& node = graph.nodes[id];
          for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] != LayoutValueId::none) add(node.inputs[i], Read{id, i});
          }
        }
      }) {
  for (const LayoutNodeId id : graph.nodes.ids()) {
    const LayoutNode& node = graph.nodes[id];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == LayoutValueId::none) continue;
      producers_[node.outputs[k]] = id;
      output_indices_[node.outputs[k]] = k;
    }
  }
}

LayoutNodeId only_reader(const LayoutGraph& graph, const Connections& connections, LayoutValueId value) {
  if (value == LayoutValueId::none || graph.values[value].is_output) return LayoutNodeId::none;
  const auto reads = connections.reads(value);
  return reads.size() == 1 ? reads[0].node : LayoutNodeId::none;
}

}  // namespace relayout::layout
