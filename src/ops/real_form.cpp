// Rewrites quantized nodes as dequantized, real and quantized again, so that their numbers can be judged:
//
//     q = QLinearConv (x, x_scale, x_zero, w, w_scale, w_zero, q_scale, q_zero, bias)
//       →  r = Conv (DequantizeLinear (x, x_scale, x_zero), DequantizeLinear (w, …), DequantizeLinear (bias, x_scale · w_scale))
//          q = QuantizeLinear (r, q_scale, q_zero)
//
// Nodes that only move quantized numbers, or choose the largest, are rewritten likewise, by the scale of their operand. Operators on images
// whose channels come last compute on images whose channels come first, and a Transpose of the integers follows.
#include <onnx/onnx_pb.h>

#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/op.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

bool is_whole(const Node& node, const QuantizedForm& form) {
  const auto is_there = [&](const QuantizedForm::Operand& operand) {
    return node.input(operand.numbers) != nullptr && node.input(operand.scale) != nullptr;
  };
  const bool has_result = node.input(form.result) != nullptr && node.input(form.result + 1) != nullptr;
  return std::ranges::all_of(form.operands(node), is_there) && has_result;
}

/// The form of a node that can be rewritten; else nullptr.
const QuantizedForm* form_of(const Node& node) {
  const QuantizedForm* const form = quantized_form(node);
  if (form == nullptr || form->result == QuantizedForm::kNoInput || !is_whole(node, *form)) return nullptr;
  if (node.outputs().size() != 1 || node.output(0) == nullptr || node.output(0)->is_output()) return nullptr;
  // With `alpha` other than 1 the bias has a different scale, and before opset 13 Softmax flattens.
  const Attributes attributes(node);
  if (form->real == "Gemm" && attributes.real("alpha", 1) != 1) return nullptr;
  if (form->real == "Softmax" && attributes.integer("opset", 0) < 13 && attributes.integer("axis", -1) != -1) return nullptr;
  return form;
}

bool is_image_pool(const Node& node) {
  return node.op_type() == "NhwcMaxPool" && node.domain() == kMicrosoftDomain;
}

/// Whether a node's result consists of elements of its first operand.
bool moves(const Node& node) {
  const bool one = node.outputs().size() == 1 && node.output(0) != nullptr && !node.output(0)->is_output() && node.input(0) != nullptr;
  if (!one || is_image_pool(node)) return one;
  return node.domain().empty() && has_trait(node, Trait::same_type) && (node.is("MaxPool") || traits_of(node).moves_input(0));
}

std::vector<int64_t> images_order(std::size_t rank, bool to_front) {
  const auto last = static_cast<int64_t>(rank) - 1;
  std::vector<int64_t> order = {0};
  if (to_front) order.push_back(last);
  for (int64_t axis = to_front ? 1 : 2; axis < (to_front ? last : last + 1); ++axis) order.push_back(axis);
  if (!to_front) order.push_back(1);
  return order;
}

/// Rank of the images whose channels a Transpose moves to the last axis; 0 for other nodes.
std::size_t rank_of_reordered(const Node& node) {
  if (!node.is("Transpose")) return 0;
  const std::vector<int64_t> order = Attributes(node).integers("perm");
  return order.size() > 2 && order == images_order(order.size(), false) ? order.size() : 0;
}

class Speller {
 public:
  Speller(Graph& graph, const RealName& real_name) : model_(graph.model()), graph_(graph), real_name_(real_name) {}

  void run() {
    std::vector<Node*> nodes;
    for (Node& node : graph_.nodes()) nodes.push_back(&node);
    for (Node* const node : nodes) {
      note_quantizer(*node);
      if (const QuantizedForm* const form = form_of(*node)) {
        spell(*node, *form);
      } else if (moves(*node)) {
        spell_mover(*node);
      }
    }
  }

 private:
  /// Scale and zero point of quantized numbers.
  struct Grid {
    Value *scale = nullptr, *zero = nullptr;
  };
  /// The same integers with channels first.
  struct Images {
    Value* integers = nullptr;
    std::size_t rank = 0;
  };

  /// Rank of the images that an operator reads with channels last; 0: not known, or no such operator.
  [[nodiscard]] std::size_t rank_of_images(const Node& node) const {
    if (!is_image_pool(node) && Attributes(node).integer("channels_last", 0) == 0) return 0;
    if (const auto known = images_.find(node.input(0)); known != images_.end()) return known->second.rank;
    if (const auto kernel = Attributes(node).integers("kernel_shape"); !kernel.empty()) return kernel.size() + 2;
    const QuantizedForm* const form = quantized_form(node);
    const Value* const weight = form != nullptr && form->real == "Conv" ? node.input(form->all[1].numbers) : nullptr;
    const bool is_stored = weight != nullptr && weight->initializer() != nullptr && weight->initializer()->data != nullptr;
    return is_stored ? weight->initializer()->data->dims().size() : 0;
  }

  /// Whether an operator is elementwise and its operands are known with channels first.
  [[nodiscard]] bool keeps_order_of_images(const Node& node, const QuantizedForm& form) const {
    const Op* const real = find_op(form.real);
    if (real == nullptr || !real->traits.has(Trait::elementwise) || form.plain != QuantizedForm::kNoInput) return false;
    return std::ranges::all_of(form.operands(node), [&](const auto& operand) { return images_.contains(node.input(operand.numbers)); });
  }

  onnx::NodeProto transposed(const Value& value, std::size_t rank, bool to_front) {
    onnx::NodeProto message = made("Transpose", {&value}, value.name());
    set_integers(message, "perm", images_order(rank, to_front));
    return message;
  }

  /// The real numbers of images, with channels first.
  Value& dequantized_images(Node& before, Value& integers, const Grid& grid, std::size_t rank) {
    if (const auto known = images_.find(&integers); known != images_.end()) {
      return dequantized(before, *known->second.integers, *grid.scale, grid.zero, 0);
    }
    return insert(before, transposed(dequantized(before, integers, *grid.scale, grid.zero, 0), rank, true));
  }

  void note_quantizer(const Node& node) {
    if (node.is("QuantizeLinear") && node.input(1) != nullptr && node.input(2) != nullptr && node.output(0) != nullptr) {
      grids_[node.output(0)] = {node.input(1), node.input(2)};
    }
  }

  Value& insert(Node& before, const onnx::NodeProto& message) {
    return *graph_.insert_before(graph_.position_of(before), message).output(0);
  }

  [[nodiscard]] onnx::NodeProto made(std::string_view op, const std::vector<const Value*>& inputs, std::string_view like) {
    onnx::NodeProto message = node_message(op, {}, {model_.unique_name(std::string(like) + "/" + std::string(op))});
    for (const Value* const input : inputs) message.add_input(input == nullptr ? "" : input->name());
    return message;
  }

  Value& dequantized(Node& before, const Value& integers, const Value& scale, const Value* zero, int64_t axis) {
    std::vector<const Value*> inputs = {&integers, &scale};
    if (zero != nullptr) inputs.push_back(zero);
    onnx::NodeProto message = made("DequantizeLinear", inputs, integers.name());
    set_integer(message, "axis", axis);
    return insert(before, message);
  }

  void spell(Node& node, const QuantizedForm& form) {
    const std::vector<QuantizedForm::Operand> operands = form.operands(node);
    const std::size_t rank = keeps_order_of_images(node, form) ? images_.at(node.input(operands[0].numbers)).rank : rank_of_images(node);
    if (Attributes(node).integer("channels_last", 0) != 0 && rank == 0) return;
    std::vector<Value*> inputs;
    if (form.plain != QuantizedForm::kNoInput) inputs.push_back(node.input(form.plain));
    for (const auto& [numbers, scale, zero] : operands) {
      const bool is_image = rank > 0 && (numbers == 0 || form.real != "Conv");
      inputs.push_back(is_image ? &dequantized_images(node, *node.input(numbers), {node.input(scale), node.input(zero)}, rank)
                                : &dequantized(node, *node.input(numbers), *node.input(scale), node.input(zero),
                                               numbers == 0 ? 0 : form.channel_axis(node)));
    }
    if (node.input(form.bias) != nullptr) {
      const Value& scale =
          insert(node, made("Mul", {node.input(operands[0].scale), node.input(operands[1].scale)}, node.output(0)->name()));
      inputs.push_back(&dequantized(node, *node.input(form.bias), scale, nullptr, 0));
    }
    const Grid grid{node.input(form.result), node.input(form.result + 1)};
    if (form.real == "ReduceMean") take_axes_as_operand(node, inputs);
    become(node, form.real, {"channels_last", "opset"});
    replace_inputs(node, inputs);
    quantize_result(node, grid, rank);
  }

  /// Changes a node to an operator of the default domain, without some of its attributes.
  void become(Node& node, std::string_view op, std::initializer_list<std::string_view> dropped) {
    onnx::NodeProto& message = graph_.edit(node);
    message.set_op_type(std::string(op));
    message.clear_domain();
    for (int i = message.attribute_size(); i-- > 0;) {
      if (std::ranges::find(dropped, message.attribute(i).name()) != dropped.end()) message.mutable_attribute()->DeleteSubrange(i, 1);
    }
  }

  /// The axes of ReduceMean are an operand from opset 18 on.
  void take_axes_as_operand(Node& node, std::vector<Value*>& inputs) {
    constexpr int64_t kAxesAreOperand = 18;
    const std::vector<int64_t> axes = Attributes(node).integers("axes");
    if (model_.opset("") < kAxesAreOperand || axes.empty()) return;
    onnx::NodeProto constant = made("Constant", {}, node.output(0)->name());
    set_integers(constant, "value_ints", axes);
    inputs.push_back(&insert(node, constant));
    become(node, "ReduceMean", {"axes"});
  }

  void spell_mover(Node& node) {
    const auto known = grids_.find(node.input(0));
    if (known == grids_.end()) return;
    const Grid grid = known->second;
    if (const std::size_t made = rank_of_reordered(node); made > 0) {
      images_[node.output(0)] = {node.input(0), made};
      grids_[node.output(0)] = grid;
      return;
    }
    if (fills_with_zeros(node)) {
      grids_[node.output(0)] = grid;
      return;
    }
    const std::size_t rank = rank_of_images(node);
    if (is_image_pool(node)) become(node, "MaxPool", {});
    graph_.set_input(node, 0, &(rank > 0 ? dequantized_images(node, *node.input(0), grid, rank) : moved_operand(node, grid)));
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      if (node.input(i) == nullptr || !traits_of(node).moves_input(i)) continue;
      const auto own = grids_.find(node.input(i));
      const Grid& of_input = own == grids_.end() ? grid : own->second;
      graph_.set_input(node, i, &dequantized(node, *node.input(i), *of_input.scale, of_input.zero, 0));
    }
    quantize_result(node, grid, rank);
  }

  /// Whether a node adds integers 0, which represent another number where the zero point is not 0.
  [[nodiscard]] static bool fills_with_zeros(const Node& node) {
    if (node.is("CenterCropPad") || node.is("MaxUnpool") || node.is("Trilu")) return true;
    return node.is("Pad") && node.input(2) == nullptr && Attributes(node).text("mode", "constant") == "constant";
  }

  /// The dequantized operand of a node that moves elements. A Transpose of images to channels first becomes an Identity where such images
  /// exist.
  Value& moved_operand(Node& node, const Grid& grid) {
    Value& integers = *node.input(0);
    const auto images = images_.find(&integers);
    const bool is_to_front =
        images != images_.end() && node.is("Transpose") && Attributes(node).integers("perm") == images_order(images->second.rank, true);
    if (!is_to_front) return dequantized(node, integers, *grid.scale, grid.zero, 0);
    become(node, "Identity", {"perm"});
    return dequantized(node, *images->second.integers, *grid.scale, grid.zero, 0);
  }

  void replace_inputs(Node& node, const std::vector<Value*>& inputs) {
    const std::size_t count = std::max(node.inputs().size(), inputs.size());
    for (std::size_t i = count; i-- > 0;) graph_.set_input(node, i, i < inputs.size() ? inputs[i] : nullptr);
  }

  void quantize_result(Node& node, const Grid& grid, std::size_t rank) {
    Value& integers = *node.output(0);
    const std::string name = real_name_(node, integers);
    const bool is_free = !name.empty() && graph_.find(name) == nullptr;
    const Value& real = graph_.detach(integers, is_free ? name : model_.unique_name(integers.name() + "/real"));
    onnx::NodeProto message = made("QuantizeLinear", {&real, grid.scale, grid.zero}, integers.name());
    if (rank == 0) message.set_output(0, integers.name());
    Node& quantizer = graph_.insert_before(std::next(graph_.position_of(node)), message);
    grids_[&integers] = grid;
    if (rank == 0) return;
    Value& images = *quantizer.output(0);
    onnx::NodeProto back = transposed(images, rank, false);
    back.set_output(0, integers.name());
    graph_.insert_before(std::next(graph_.position_of(quantizer)), back);
    images_[&integers] = {&images, rank};
  }

  Model& model_;
  Graph& graph_;
  const RealName& real_name_;
  std::unordered_map<const Value*, Grid> grids_;
  std::unordered_map<const Value*, Images> images_;  ///< by the integers whose channels come last
};

}  // namespace

bool has_real_form(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return form_of(node) != nullptr; });
}

void write_real_form(Graph& graph, const RealName& real_name) {
  Speller(graph, real_name).run();
}

}  // namespace relayout
