// Stores convolution weights in channels-last order, and back; one Transpose restores the dims for every reader.
//
//     <float[5, 7, 3, 2] W>                          <float[5, 3, 2, 7] W.channels_last>
//     y = Conv (x, W)                                W = Transpose <perm = [0, 3, 1, 2]> (W.channels_last)
//                                                    y = Conv (x, W)
//
// The Transpose of a quantized weight stands upstream of QuantizeLinear and DequantizeLinear, so that their axes do not change.

#include "base/positions.h"
#include "base/text.h"
#include "layout/axis_order.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// The source of a convolution's weight.
struct WeightSource {
  Value* stored = nullptr;          ///< value of an initializer or of a Constant node; nullptr when the source is neither
  const Node* before = nullptr;     ///< node from it to the Transpose (DequantizeLinear …), if there is one
  const Node* transpose = nullptr;  ///< reads it or the result of `before`; nullptr without one
  bool direct = true;               ///< no node between the convolution and the Transpose (or `stored` without one)
};

WeightSource weight_source(Value& weight) {
  WeightSource out;
  Value* at = &weight;
  while (at->producer() != nullptr && keeps_elements(*at->producer())) {
    at = at->producer()->input(0);
    out.direct = false;
  }
  if (at->producer() != nullptr && at->producer()->is("Transpose") && at->producer()->input(0) != nullptr) {
    out.transpose = at->producer();
    at = out.transpose->input(0);
    if (at->producer() != nullptr && keeps_elements(*at->producer())) {
      out.before = at->producer();
      at = out.before->input(0);
    }
  }
  const bool is_constant_node = at->producer() != nullptr && at->producer()->is("Constant");
  if (at->initializer() != nullptr || is_constant_node) out.stored = at;
  return out;
}

/// Readers of a weight, seen through nodes that pass its elements on.
struct Readers {
  std::vector<const Node*> convolutions;
  bool others = false;
};

Readers readers_of(const Value& weight) {
  Readers out;
  std::vector<const Value*> open = {&weight};
  while (!open.empty()) {
    const Value& value = *open.back();
    open.pop_back();
    if (value.is_output()) out.others = true;
    for (const Use& use : value.uses()) {
      if (traits_of(*use.node).convolution_weight() == as_size(use.index)) {
        out.convolutions.push_back(use.node);
      } else if (keeps_elements(*use.node) && use.index == 0 && use.node->output(0) != nullptr) {
        open.push_back(use.node->output(0));
      } else {
        out.others = true;
      }
    }
  }
  return out;
}

/// Whether the contents are stored in a typed field that is wider than the elements: they would be written back as raw_data. (float_data
/// and double_data of their own types stay in their field.)
bool is_typed(const Value& stored) {
  const onnx::TensorProto* message = nullptr;
  if (const Initializer* const initializer = stored.initializer()) {
    if (!initializer->modified) message = initializer->message;
  } else if (stored.producer()->constant_data() == nullptr) {
    const onnx::AttributeProto* const value = stored.producer()->attribute("value");
    if (value != nullptr) message = &value->t();
  }
  return message != nullptr && message->int32_data_size() + message->int64_data_size() + message->uint64_data_size() > 0;
}

/// The operator upstream of a Transpose that is removed, and its new axis.
struct AxisOrigin {
  const Node* node = nullptr;
  std::optional<int64_t> axis;  ///< to be set
};

/// A weight that changes its order.
struct Reorder {
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
  Value* stored = nullptr;
  TensorData data;                  ///< in the new order
  const Node* transpose = nullptr;  ///< to be removed; nullptr: one is to be inserted
  AxisOrigin before = {};           ///< with `transpose`
};
using ReorderMatch = Match<Reorder>;

class WeightsPass {
 public:
  explicit WeightsPass(PassContext& context) : context_(context) {}

  ReorderMatch match(const Node& node) {
    Value* const weight = node.input(*traits_of(node).convolution_weight());
    if (weight == nullptr) return NotApplicable{};
    const WeightSource source = weight_source(*weight);
    if (source.stored == nullptr) return Skip{Reason::not_constant, quote(weight->name())};
    // All convolutions that share a weight share its refusal.
    if (const auto known = refused_.find(source.stored); known != refused_.end()) return known->second;
    ReorderMatch out = decide(source, *weight);
    if (const auto* const skip = std::get_if<Skip>(&out)) refused_.emplace(source.stored, *skip);
    return out;
  }

  void apply(Reorder& reorder) {
    context_.constants.forget(*reorder.stored);
    if (reorder.transpose != nullptr) {
      store(*reorder.stored, std::move(reorder.data));
      context_.constants.forget(*reorder.transpose->output(0));
      if (reorder.before.axis) set_axis(writable(*reorder.before.node), *reorder.before.axis);
      Value& source = *reorder.transpose->input(0);
      source.graph().attach(source, writable(*reorder.transpose));
    } else {
      make_transpose(reorder);
    }
  }

 private:
  [[nodiscard]] ReorderMatch decide(const WeightSource& source, const Value& weight) {
    Value& stored = *source.stored;
    const std::string name = quote(stored.name());
    if (stored.initializer() != nullptr && stored.initializer()->sparse != nullptr) return Skip{Reason::sparse, name};
    const auto found = context_.constants.find(stored);
    if (const auto* const reason = std::get_if<Reason>(&found)) return Skip{*reason, name};
    const Constant& constant = std::get<Constant>(found);
    const std::size_t rank = constant.dims.size();
    if (source.transpose == nullptr) {
      if (context_.options.layout == WeightsLayout::contiguous) return Skip{Reason::already_contiguous, name, Verdict::not_applicable};
      return to_channels_last(stored, constant, source.direct);
    }
    if (rank < 3 || layout::permutation_of(*source.transpose, rank) != layout::from_channels_last(rank))
      return Skip{Reason::other_order, quote(weight.name()) + " comes through " + source.transpose->label()};
    if (context_.options.layout == WeightsLayout::channels_last) return Skip{Reason::already_channels_last, name, Verdict::not_applicable};
    return to_contiguous(source, constant);
  }

  [[nodiscard]] ReorderMatch to_channels_last(Value& stored, const Constant& constant, bool direct) const {
    const std::size_t rank = constant.dims.size();
    const std::string name = quote(stored.name());
    const std::string what = name + " " + to_string(constant.dims);
    if (layout::is_both_layouts(constant.dims)) return Skip{Reason::both_layouts, what, Verdict::not_applicable};
    if (rank == 3 && !context_.options.include_1d) return Skip{Reason::rank_not_converted, what};
    if (!layout::is_transposable(constant.type, stored.graph().opset(""))) {
      return Skip{Reason::type_not_transposable, name + " is of type " + std::string(name_of(constant.type))};
    }
    if (stored.producer() != nullptr && stored.producer()->attribute("value") == nullptr) return Skip{Reason::sparse, name};
    if (is_typed(stored)) return Skip{Reason::typed_data, name};
    Readers readers = readers_of(stored);
    if (!direct && readers.others) return Skip{Reason::shared_use, name};
    return Reorder{
        std::move(readers.convolutions), {}, what, &stored, constant.data.permuted(relayout::layout::to_channels_last(rank)), nullptr, {}};
  }

  /// Of the form above, whatever tool wrote it, and of a Transpose downstream of DequantizeLinear, as written by hand.
  [[nodiscard]] ReorderMatch to_contiguous(const WeightSource& source, const Constant& constant) {
    Value& stored = *source.stored;
    const Node& transpose = *source.transpose;
    const std::string name = quote(stored.name());
    if (stored.sole_use() == nullptr || transpose.output(0) == nullptr) return Skip{Reason::shared_use, name};
    if (&stored.graph() != &transpose.graph()) return Skip{Reason::other_scope, name};
    const Dims permutation = layout::from_channels_last(constant.dims.size());
    AxisOrigin before{source.before, std::nullopt};
    if (source.before != nullptr) {
      const Value& between = *transpose.input(0);
      if (between.sole_use() == nullptr) return Skip{Reason::shared_use, quote(between.name())};
      if (&between.graph() != &transpose.graph()) return Skip{Reason::other_scope, name};
      if (!map_axis(*source.before, permutation, before.axis))
        return Skip{Reason::other_order, quote(between.name()) + " is quantized along other axes"};
    }
    Readers readers = readers_of(*transpose.output(0));
    return Reorder{std::move(readers.convolutions),
                   {},
                   name + " " + to_string(constant.dims),
                   &stored,
                   constant.data.permuted(permutation),
                   &transpose,
                   before};
  }

  /// Sets `axis` to the new axis of a quantizing operator whose operand is permuted, if it has one. False when there is no such axis.
  [[nodiscard]] bool map_axis(const Node& node, const Dims& permutation, std::optional<int64_t>& axis) {
    if (!node.is("QuantizeLinear") && !node.is("DequantizeLinear")) return true;
    const Attributes attributes(node);
    if (attributes.integer("block_size", 0) != 0 || node.input(1) == nullptr) return false;
    const auto found = context_.constants.find(*node.input(1));
    const auto* const scale = std::get_if<Constant>(&found);
    if (scale == nullptr || scale->dims.size() > 1) return false;
    if (element_count(scale->dims) == 1) return true;
    const auto at = std::ranges::find(permutation, from_front(attributes.integer("axis", 1), std::ssize(permutation)));
    if (at == permutation.end()) return false;
    axis = at - permutation.begin();
    return true;
  }

  static void set_axis(Node& node, int64_t axis) { set_integer(node.graph().edit(node), "axis", axis); }

  static void store(Value& value, TensorData data) {
    if (value.initializer() != nullptr) {
      value.graph().set_data(*value.initializer(), std::move(data));
    } else {
      value.graph().set_constant(*value.producer(), std::move(data));
    }
  }

  void make_transpose(Reorder& reorder) {
    Value& weight = *reorder.stored;
    Graph& graph = weight.graph();
    const std::size_t rank = reorder.data.dims().size();
    const std::string name = graph.model().unique_name(weight.name() + ".channels_last");
    Value& stored = graph.detach(weight, name);
    transposes_.insert_after_source(
        graph, {stored, weight.name(), graph.model().unique_name(transpose_name(name)), layout::from_channels_last(rank)});
    store(stored, std::move(reorder.data));
  }

  PassContext& context_;
  std::unordered_map<const Value*, Skip> refused_;
  OrderedTransposes transposes_;
};

}  // namespace

void conv_weights_layout(Graph& graph, PassContext& context) {
  if (context.options.layout == WeightsLayout::keep) return;
  WeightsPass pass(context);
  rewrite_each(
      graph, context, [](const Node& node) { return traits_of(node).convolution_weight().has_value(); },
      [&](const Node& node, PassContext&) { return pass.match(node); }, [&](Reorder& reorder, PassContext&) { pass.apply(reorder); });
}

}  // namespace relayout::passes
