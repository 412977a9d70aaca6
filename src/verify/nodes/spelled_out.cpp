// Writes operators on quantized numbers out:
//
//     q = QLinearConv (x, x_scale, x_zero, w, w_scale, w_zero, q_scale, q_zero, bias)
//       →  r = Conv (DequantizeLinear (x, x_scale, x_zero), DequantizeLinear (w, …), DequantizeLinear (bias, x_scale · w_scale))
//          q = QuantizeLinear (r, q_scale, q_zero)
//
// and nodes that only move such numbers, or choose the largest, likewise: by the scale of what they read.
#include "verify/nodes/spelled_out.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/attributes.h"
#include "model/model_builder.h"
#include "model/origin.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
/// DequantizeLinear and QuantizeLinear take an axis from here on.
constexpr int64_t kLeastOpset = 13;

/// Where an operator has its quantized operands, each followed by scale and zero point, and scale and zero point of its result.
struct Form {
  std::string_view op, real;
  std::vector<std::size_t> operands;
  std::size_t result = kNone;
  std::size_t bias = kNone;   ///< integers in the scale of the products of the first two operands
  std::size_t plain = kNone;  ///< an operand that is read as it is, in front of the others
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"QGemm", "Gemm", {0, 3}, 7, 6, kNone},
      {"QLinearAdd", "Add", {0, 3}, 6, kNone, kNone},
      {"QLinearAveragePool", "AveragePool", {0}, 3, kNone, kNone},
      {"QLinearConv", "Conv", {0, 3}, 6, 8, kNone},
      {"QLinearGlobalAveragePool", "GlobalAveragePool", {0}, 3, kNone, kNone},
      {"QLinearLeakyRelu", "LeakyRelu", {0}, 3, kNone, kNone},
      {"QLinearMatMul", "MatMul", {0, 3}, 6, kNone, kNone},
      {"QLinearMul", "Mul", {0, 3}, 6, kNone, kNone},
      {"QLinearSigmoid", "Sigmoid", {0}, 3, kNone, kNone},
      {"QLinearSoftmax", "Softmax", {0}, 3, kNone, kNone},
      {"QLinearWhere", "Where", {1, 4}, 7, kNone, 0},
  };
  return all;
}

/// Of QLinearConcat as many operands as there are.
Form concat_of(const Node& node) {
  Form form{"QLinearConcat", "Concat", {}, 0, kNone, kNone};
  for (std::size_t i = 2; i < node.inputs().size(); i += 3) form.operands.push_back(i);
  return form;
}

class Speller {
 public:
  Speller(Model& model, const Graph& original) : model_(model), graph_(model.graph()), original_(original) {}

  void run() {
    std::vector<Node*> nodes;
    for (Node& node : graph_.nodes()) nodes.push_back(&node);
    for (Node* const node : nodes) {
      note_quantizer(*node);
      if (const auto form = form_of(*node)) {
        spell(*node, *form);
      } else if (moves(*node)) {
        spell_mover(*node);
      }
    }
  }

  [[nodiscard]] static bool has_any(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const Node& node) { return form_of(node).has_value(); });
  }

 private:
  /// Scale and zero point of quantized numbers.
  struct Grid {
    Value *scale = nullptr, *zero = nullptr;
  };

  [[nodiscard]] static std::optional<Form> form_of(const Node& node) {
    if (!node.domain().empty() && node.domain() != "com.microsoft") return std::nullopt;
    if (node.outputs().size() != 1 || node.output(0) == nullptr || node.output(0)->is_output()) return std::nullopt;
    const Attributes attributes(node);
    if (attributes.integer("channels_last", 0) != 0) return std::nullopt;
    if (node.op_type() == "QLinearConcat") return is_whole(node, concat_of(node)) ? std::optional(concat_of(node)) : std::nullopt;
    const auto found = std::ranges::find(forms(), std::string_view(node.op_type()), &Form::op);
    if (found == forms().end() || !is_whole(node, *found)) return std::nullopt;
    // Of other factors the bias is in another scale, and before opset 13 Softmax flattens.
    if (found->op == "QGemm" && attributes.real("alpha", 1) != 1) return std::nullopt;
    if (found->op == "QLinearSoftmax" && attributes.integer("opset", 0) < 13 && attributes.integer("axis", -1) != -1) return std::nullopt;
    return *found;
  }

  [[nodiscard]] static bool is_whole(const Node& node, const Form& form) {
    const auto is_there = [&](std::size_t i) { return node.input(i) != nullptr && node.input(i + 1) != nullptr; };
    const bool has_result = node.input(form.result) != nullptr && node.input(form.result + 1) != nullptr;
    return std::ranges::all_of(form.operands, is_there) && has_result;
  }

  /// Whether a node hands on elements of its first operand.
  [[nodiscard]] static bool moves(const Node& node) {
    const bool one = node.outputs().size() == 1 && node.output(0) != nullptr && !node.output(0)->is_output() && node.input(0) != nullptr;
    return one && node.domain().empty() && has_trait(node, Trait::same_type) && (node.is("MaxPool") || traits_of(node).moves_input(0));
  }

  void note_quantizer(const Node& node) {
    if (node.is("QuantizeLinear") && node.input(1) != nullptr && node.input(2) != nullptr && node.output(0) != nullptr) {
      grids_[node.output(0)] = {node.input(1), node.input(2)};
    }
  }

  /// The axis along which the second operand of a product has a scale each.
  [[nodiscard]] static int64_t axis_of(const Node& node, std::string_view real, std::size_t operand) {
    if (operand == 0 || real == "Conv") return 0;
    return real == "Gemm" && Attributes(node).integer("transB", 0) != 0 ? 0 : 1;
  }

  Value& insert(Node& before, const onnx::NodeProto& message) {
    return *graph_.insert_before(graph_.position_of(before), message).output(0);
  }

  [[nodiscard]] onnx::NodeProto made(std::string_view op, const std::vector<const Value*>& inputs, std::string_view like) {
    onnx::NodeProto message;
    message.set_op_type(std::string(op));
    for (const Value* const input : inputs) message.add_input(input == nullptr ? "" : input->name());
    message.add_output(model_.unique_name(std::string(like) + "/" + std::string(op)));
    return message;
  }

  Value& dequantized(Node& before, const Value& integers, const Value& scale, const Value* zero, int64_t axis) {
    std::vector<const Value*> inputs = {&integers, &scale};
    if (zero != nullptr) inputs.push_back(zero);
    onnx::NodeProto message = made("DequantizeLinear", inputs, integers.name());
    onnx::AttributeProto& attribute = *message.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(axis);
    return insert(before, message);
  }

  void spell(Node& node, const Form& form) {
    std::vector<Value*> inputs;
    if (form.plain != kNone) inputs.push_back(node.input(form.plain));
    for (const std::size_t i : form.operands) {
      const int64_t axis = axis_of(node, form.real, i);
      inputs.push_back(&dequantized(node, *node.input(i), *node.input(i + 1), node.input(i + 2), axis));
    }
    if (form.bias != kNone && node.input(form.bias) != nullptr) {
      const Value& scale =
          insert(node, made("Mul", {node.input(form.operands[0] + 1), node.input(form.operands[1] + 1)}, node.output(0)->name()));
      inputs.push_back(&dequantized(node, *node.input(form.bias), scale, nullptr, 0));
    }
    const Grid grid{node.input(form.result), node.input(form.result + 1)};
    onnx::NodeProto& message = graph_.edit(node);
    message.set_op_type(std::string(form.real));
    message.clear_domain();
    for (int i = message.attribute_size(); i-- > 0;) {
      const std::string& name = message.attribute(i).name();
      if (name == "channels_last" || name == "opset") message.mutable_attribute()->DeleteSubrange(i, 1);
    }
    replace_inputs(node, inputs);
    quantize_result(node, grid);
  }

  void spell_mover(Node& node) {
    const auto known = grids_.find(node.input(0));
    if (known == grids_.end()) return;
    const Grid grid = known->second;
    graph_.set_input(node, 0, &dequantized(node, *node.input(0), *grid.scale, grid.zero, 0));
    quantize_result(node, grid);
  }

  void replace_inputs(Node& node, const std::vector<Value*>& inputs) {
    const std::size_t count = std::max(node.inputs().size(), inputs.size());
    for (std::size_t i = count; i-- > 0;) graph_.set_input(node, i, i < inputs.size() ? inputs[i] : nullptr);
  }

  /// The value of the original that integers stand for, by the name that ONNX Runtime's quantizer gives them; nullptr: not known. A Relu
  /// behind it that is gone is in their range.
  [[nodiscard]] const Value* original_of(const Value& integers) const {
    constexpr std::string_view kSuffix = "_quantized";
    const std::string& name = integers.name();
    if (!name.ends_with(kSuffix)) return nullptr;
    const Value* const same = original_.find(std::string_view(name).substr(0, name.size() - kSuffix.size()));
    if (same == nullptr || same->uses().size() != 1 || same->is_output()) return same;
    const Node& reader = *same->uses().front().node;
    const bool clips = reader.is("Relu") || reader.is("Clip");
    if (!clips || reader.output(0) == nullptr) return same;
    const std::string& behind = reader.output(0)->name();
    const Value* const made = graph_.find(behind);
    const bool is_dequantized = made != nullptr && made->producer() != nullptr && made->producer()->is("DequantizeLinear") &&
                                made->producer()->input(0) == &integers;
    const bool is_there = (made != nullptr && !is_dequantized) || graph_.find(behind + std::string(kSuffix)) != nullptr;
    return is_there ? same : reader.output(0);
  }

  void quantize_result(Node& node, const Grid& grid) {
    Value& integers = *node.output(0);
    const Value* const original = original_of(integers);
    const bool is_free = original != nullptr && graph_.find(original->name()) == nullptr;
    Value& real = graph_.detach(integers, is_free ? original->name() : model_.unique_name(integers.name() + "/real"));
    onnx::NodeProto message;
    message.set_op_type("QuantizeLinear");
    for (const Value* const input :
         {static_cast<const Value*>(&real), static_cast<const Value*>(grid.scale), static_cast<const Value*>(grid.zero)})
      message.add_input(input->name());
    message.add_output(integers.name());
    graph_.insert_before(std::next(graph_.position_of(node)), message);
    grids_[&integers] = grid;
  }

  Model& model_;
  Graph& graph_;
  const Graph& original_;
  std::unordered_map<const Value*, Grid> grids_;
};

}  // namespace

std::unique_ptr<Model> with_quantization_spelled_out(const Model& model, const Graph& original) {
  if (model.graph().modified() || model.opset("") < kLeastOpset || !Speller::has_any(model.graph())) return nullptr;
  const ModelOrigin& origin = origin_of(model);
  auto copy = ModelBuilder::build(origin.source, origin.file, model.name(), {.allow_newer_opset = true});
  Speller(*copy, original).run();
  return Executor::unsupported(copy->graph()).empty() ? std::move(copy) : nullptr;
}

}  // namespace relayout
