// Writes the borders of the layout plan as pairs of Transposes for other runtimes, and removes such pairs again.
//
//     y = Conv (x, W)                                x.nhwc = Transpose <perm = [0, 2, 3, 1]> (x)
//                                                    x.nhwc.nchw = Transpose <perm = [0, 3, 1, 2]> (x.nhwc)
//                                                    y = Conv (x.nhwc.nchw, W)
//
// The pair computes nothing: standard ONNX has no channels-last convolution. It states that the tensor is laid out channels-last (or
// contiguous) from there on. The executor here reads it in that order (a copy, then a view), others cancel the pair. The way back
// recognises pairs by their names, so that a pair of the original model stays.

#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/graph_shapes.h"
#include "layout/layout_graph.h"
#include "layout/layout_plan.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

constexpr std::string_view kMiddle = ".nhwc", kInner = ".inner", kBack = "/Back";
constexpr std::string_view kTextMiddle = "__nhwc", kTextInner = "__inner";  ///< in ONNX's syntax, where nodes have no names

/// A pair to write, or to remove.
struct PairToWrite {
  Value* value;
  std::size_t rank;
  std::vector<const Node*> readers;
  bool for_caller;
};
struct PairToRemove {
  const Node *there, *back;
};

/// Whether the node is a reader of the copy, itself or as part of a nested graph of one.
bool is_among(const Node& node, const Graph& home, const std::vector<const Node*>& readers) {
  const Node* at = &node;
  while (&at->graph() != &home && at->graph().owner() != nullptr) at = at->graph().owner();
  return std::ranges::find(readers, at) != readers.end();
}

Match<PairToWrite> match_copy(const layout::PlannedCopy& copy, const layout::LayoutGraph& planned, const Graph& graph) {
  const layout::LayoutValue& value = planned.values[copy.value];
  const layout::AxisOrder last = layout::order_of(layout::channels_last_axes(value.dims.size()), value.dims);
  const bool is_pair = (copy.from == last && layout::is_contiguous(copy.to)) || (copy.to == last && layout::is_contiguous(copy.from));
  if (!is_pair || !layout::is_transposable(value.type, graph.opset(""))) return NotApplicable{};
  PairToWrite out{graph.find(value.value->name()), value.dims.size(), {}, false};
  for (const layout::LayoutNodeId reader : copy.readers) {
    if (reader == layout::LayoutNodeId::none) {
      out.for_caller = true;
    } else {
      out.readers.push_back(planned.nodes[reader].node);
    }
  }
  if (out.for_caller && (out.value->producer() == nullptr || is_output_elsewhere(*out.value))) return NotApplicable{};
  return out;
}

void write(const PairToWrite& pair, Graph& graph) {
  Value& value = *pair.value;
  const std::string name = value.name();
  const std::vector<Use> uses(value.uses().begin(), value.uses().end());
  Value& source = pair.for_caller ? graph.detach(value, graph.model().unique_name(name + std::string(kInner))) : value;
  // A captured value is transposed in the graph that reads it.
  const std::string middle = graph.model().unique_name(name + std::string(kMiddle));
  const Node& there = insert_after_source(graph, {source, middle, transpose_name(middle), layout::to_channels_last(pair.rank)});
  const std::string result = pair.for_caller ? name : graph.model().unique_name(middle + ".nchw");
  const Node& back =
      insert_after_source(graph, {*there.output(0), result, middle + std::string(kBack), layout::from_channels_last(pair.rank)});
  for (const Use& use : uses) {
    const bool wants_copy = is_among(*use.node, graph, pair.readers);
    if (!wants_copy && &source == &value) continue;
    Value& read = wants_copy ? *back.output(0) : source;
    use.node->graph().set_input(*use.node, as_size(use.index), &read);
  }
}

bool is_named_as_pair(const Node& there, const Value& middle, const Node& back) {
  if (there.name().empty() && back.name().empty()) return middle.name().find(kTextMiddle) != std::string::npos;
  return there.name() == transpose_name(middle.name()) && back.name() == middle.name() + std::string(kBack);
}

/// Whether the name is that of the source of a pair upstream of a graph output.
bool is_inner_name(const std::string& name, const std::string& output) {
  return name.starts_with(output + std::string(kInner)) || name.starts_with(output + std::string(kTextInner));
}

/// The pair that ends in `back`, if it is one.
Match<PairToRemove> match_back(const Node& back) {
  const Value* const middle = back.input(0);
  const Node* const there = middle != nullptr ? middle->producer() : nullptr;
  if (there == nullptr || !there->is("Transpose") || there->input(0) == nullptr || back.output(0) == nullptr) return NotApplicable{};
  if (middle->sole_use() == nullptr || !is_named_as_pair(*there, *middle, back)) return NotApplicable{};
  const std::size_t rank = permutation_rank(back);
  if (rank < 3 || layout::permutation_of(back, rank) != layout::from_channels_last(rank) ||
      layout::permutation_of(*there, rank) != layout::to_channels_last(rank))
    return NotApplicable{};
  const Value& source = *there->input(0);
  const Value& result = *back.output(0);
  if (result.is_output() && (!is_inner_name(source.name(), result.name()) || source.producer() == nullptr || source.is_output()))
    return NotApplicable{};
  return PairToRemove{there, &back};
}

void remove(const PairToRemove& pair, Graph& graph) {
  Node& back = writable(*pair.back);
  Value& source = *pair.there->input(0);
  Value& result = *back.output(0);
  graph.set_input(back, 0, &source);
  graph.erase(writable(*pair.there));
  if (result.is_output()) {
    attach_through(graph, back);
  } else {
    graph.replace_uses(result, source);
    graph.erase(back);
  }
}

constexpr std::string_view kFinding = "reorder";

/// `shapes` are those of this graph.
void write_pairs(Graph& graph, layout::Shapes& shapes, PassContext& context) {
  const layout::LayoutGraph planned = layout_graph(graph, shapes);
  const layout::LayoutPlan plan = plan_layout(planned, {context.options.choice, nullptr});
  for (const layout::PlannedCopy& copy : plan.copies) {
    rewrite_one(
        {kFinding, planned.values[copy.value].value->name()}, context, [&] { return match_copy(copy, planned, graph); },
        [&](const PairToWrite& pair) { write(pair, graph); });
  }
}

void remove_pairs(Graph& graph, PassContext& context) {
  std::vector<const Node*> candidates;
  for (const Node& node : graph.nodes()) {
    const bool may_be_back = node.name().ends_with(kBack) || node.name().empty();
    if (node.is("Transpose") && may_be_back && node.output(0) != nullptr) candidates.push_back(&node);
  }
  for (const Node* const back : candidates) {
    // The finding names the tensor that stays.
    const Value& result = *back->output(0);
    const Node* const there = back->input(0) != nullptr ? back->input(0)->producer() : nullptr;
    const bool stays = result.is_output() || there == nullptr || there->input(0) == nullptr;
    rewrite_one(
        {kFinding, (stays ? result : *there->input(0)).name()}, context, [&] { return match_back(*back); },
        [&](const PairToRemove& pair) { remove(pair, graph); });
  }
}

/// Nested graphs first: they are planned while the values that they capture are still unchanged.
void emit(Graph& graph, layout::Shapes& shapes, PassContext& context) {
  for (const Node& node : graph.nodes()) {
    for_each_nested_shapes(node, shapes, context.options.sizes,
                           [&](Graph& nested, layout::Shapes& inside) { emit(nested, inside, context); });
  }
  write_pairs(graph, shapes, context);
}

}  // namespace

void export_transposes(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  if (context.options.layout == WeightsLayout::contiguous) {
    for_each_graph<Nested::before>(graph, [&](Graph& nested) { remove_pairs(nested, context); });
    return;
  }
  layout::Shapes shapes(graph, context.options.sizes);
  emit(graph, shapes, context);
}

}  // namespace relayout::passes
