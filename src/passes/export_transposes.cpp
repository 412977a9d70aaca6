// The borders of the layout plan written into the model (--emit transposes), and back:
//
//     y = Conv (x, W)                                x.nhwc = Transpose <perm = [0, 2, 3, 1]> (x)
//                                                    x.nhwc.nchw = Transpose <perm = [0, 3, 1, 2]> (x.nhwc)
//                                                    y = Conv (x.nhwc.nchw, W)
//
// The pair computes nothing: standard ONNX has no channels-last convolution. It says that the tensor lies channels-last (or contiguous)
// from there on; the executor here reads it so (a copy, then a view), others cancel it. Back is recognised by the names, so that a pair of
// somebody else's stays.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "layout/permutation.h"
#include "layout/plan.h"
#include "layout/shapes.h"
#include "model/walk.h"
#include "passes/cleanup.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "passes/transposes.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr std::string_view kMiddle = ".nhwc", kInner = ".inner", kBack = "/Back";

class PairPass {
 public:
  PairPass(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  /// `shapes` of this graph.
  void emit(Shapes& shapes) {
    const LayoutGraph planned = layout_graph(graph_, shapes);
    const LayoutPlan plan = plan_layout(planned, {context_.options.choice, nullptr});
    for (const PlannedCopy& copy : plan.copies) {
      const LayoutValue& value = planned.values[copy.value];
      const AxisOrder last = order_of(channels_last_axes(value.dims.size()), value.dims);
      const bool is_pair = (copy.from == last && is_contiguous(copy.to)) || (copy.to == last && is_contiguous(copy.from));
      if (!is_pair || !is_transposable(value.type, graph_.opset("")) || !context_.may_rewrite()) continue;
      std::vector<const Node*> readers;
      bool for_caller = false;
      for (const LayoutNodeId reader : copy.readers) {
        if (reader == LayoutNodeId::none) {
          for_caller = true;
        } else {
          readers.push_back(planned.nodes[reader].node);
        }
      }
      write(*graph_.find(value.value->name()), value.dims.size(), readers, for_caller);
    }
  }

  void undo() {
    std::vector<Node*> candidates;
    for (Node& node : graph_.nodes()) {
      if (node.is("Transpose") && node.name().ends_with(kBack)) candidates.push_back(&node);
    }
    for (Node* const back : candidates) take_out(*back);
  }

 private:
  void say(const Value& value) {
    ++context_.rewrites;
    context_.findings.push_back({std::string(context_.pass), "reorder", value.name()});
  }

  /// Readers of the copy, nodes that stand for their nested graphs among them.
  static bool is_among(const Node& node, const Graph& home, const std::vector<const Node*>& readers) {
    const Node* at = &node;
    while (&at->graph() != &home && at->graph().owner() != nullptr) at = at->graph().owner();
    return std::ranges::find(readers, at) != readers.end();
  }

  void write(Value& value, std::size_t rank, const std::vector<const Node*>& readers, bool for_caller) {
    const std::string name = value.name();
    const std::vector<Use> uses(value.uses().begin(), value.uses().end());
    if (for_caller && (value.producer() == nullptr || is_output_elsewhere(value))) return;
    Value& source = for_caller ? graph_.detach(value, graph_.model().unique_name(name + std::string(kInner))) : value;
    // A captured value is turned where it is read.
    const bool is_made_here = source.producer() != nullptr && &source.graph() == &graph_;
    const auto place = is_made_here ? std::next(graph_.position_of(*source.producer())) : graph_.nodes().begin();
    const std::string middle = graph_.model().unique_name(name + std::string(kMiddle));
    const Node* const there = insert_transpose(graph_, place, source, middle, middle + "/Transpose", to_channels_last(rank));
    const std::string result = for_caller ? name : graph_.model().unique_name(middle + ".nchw");
    const Node* const back =
        insert_transpose(graph_, place, *there->output(0), result, middle + std::string(kBack), from_channels_last(rank));
    for (const Use& use : uses) {
      const bool wants_copy = is_among(*use.node, graph_, readers);
      if (!wants_copy && &source == &value) continue;
      Value& read = wants_copy ? *back->output(0) : source;
      use.node->graph().set_input(*use.node, static_cast<std::size_t>(use.index), &read);
    }
    say(value);
  }

  /// Removes the pair that ends in `back`, if it is one.
  void take_out(Node& back) {
    Value* const middle = back.input(0);
    Node* const there = middle != nullptr ? middle->producer() : nullptr;
    if (there == nullptr || !there->is("Transpose") || there->input(0) == nullptr || back.output(0) == nullptr) return;
    if (middle->uses().size() != 1 || middle->is_output() || there->name() != middle->name() + "/Transpose" ||
        back.name() != middle->name() + std::string(kBack)) {
      return;
    }
    const std::size_t rank = permutation_rank(back);
    if (rank < 3 || permutation_of(back, rank) != from_channels_last(rank) || permutation_of(*there, rank) != to_channels_last(rank))
      return;
    Value& source = *there->input(0);
    Value& result = *back.output(0);
    if (result.is_output() &&
        (!source.name().starts_with(result.name() + std::string(kInner)) || source.producer() == nullptr || source.is_output()))
      return;
    graph_.set_input(back, 0, &source);
    graph_.erase(*there);
    if (result.is_output()) {
      attach_through(graph_, back);
    } else {
      graph_.replace_uses(result, source);
      graph_.erase(back);
    }
    say(result.is_output() ? result : source);
  }

  Graph& graph_;
  PassContext& context_;
};

/// Nested graphs first: what they capture is planned as it is there.
void emit(Graph& graph, Shapes& shapes, PassContext& context) {
  for (Node& node : graph.nodes()) {
    for (const auto& nested : node.subgraphs()) {
      Shapes inner(*nested, sizes_inside(node, *nested, shapes, context.options.sizes), &shapes);
      emit(*nested, inner, context);
    }
  }
  PairPass(graph, context).emit(shapes);
}

}  // namespace

void export_transposes(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  if (context.options.layout == WeightsLayout::contiguous) {
    for_each_graph<Nested::before>(graph, [&](Graph& nested) { PairPass(nested, context).undo(); });
    return;
  }
  Shapes shapes(graph, context.options.sizes);
  emit(graph, shapes, context);
}

}  // namespace relayout
