// Raises the opset of a model, node by node, so that rows may write the operators of a newer one.
#include <onnx/defs/schema.h>

#include <cmath>
#include <limits>

#include "base/positions.h"
#include "derive/linearizer.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op_history.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::derive {
namespace {

/// Operators whose attributes became operands in another form than op_history knows.
struct Operands {
  std::string_view op;
  int version;
  std::vector<std::string_view> attributes;
};

const std::vector<Operands>& moved_operands() {
  static const std::vector<Operands> table = {
      {"Clip", 11, {"min", "max"}}, {"Dropout", 12, {"ratio"}}, {"Pad", 11, {"pads", "value"}}, {"Slice", 10, {"starts", "ends", "axes"}}};
  return table;
}

bool differs(const Node& node, int version) {
  // An attribute that became an operand, whatever else is unchanged.
  const MovedArgument* const moved = moved_argument(node.op_type());
  if (moved != nullptr && moved->version == version && node.attribute(moved->attribute) != nullptr) return true;
  if (is_unchanged(node.op_type(), version)) {
    return std::ranges::any_of(attributes_changed(node.op_type(), version),
                               [&](std::string_view name) { return node.attribute(name) != nullptr; });
  }
  return true;
}

class Raiser {
 public:
  Raiser(Model& model, int64_t least) : model_(model), from_(model.opset("")), least_(least) {}

  void run() {
    for_each_graph(model_.graph(), [&](Graph& graph) {
      std::vector<Node*> nodes;
      for (Node& node : graph.nodes()) nodes.push_back(&node);
      for (Node* node : nodes) {
        if (node->domain().empty()) raise(*node);
      }
    });
    for (auto& import : *model_.message().mutable_opset_import()) {
      if (canonical_domain(import.domain()).empty()) import.set_version(least_);
    }
  }

 private:
  [[noreturn]] void refuse(const Node& node) const {
    fail(ErrorKind::unsupported, "opset " + std::to_string(from_) + ": " + node.label() + " differs in opset " + std::to_string(least_) +
                                     ", which derivatives need");
  }

  void raise(Node& node) {
    const auto schema = [&](int64_t opset) { return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), ""); };
    for (int64_t opset = from_ + 1; opset <= least_; ++opset) {
      const auto* const now = schema(opset);
      if (now == nullptr) refuse(node);
      if (now == schema(opset - 1) || !differs(node, now->SinceVersion())) continue;
      if (!is_rewritten(node, now->SinceVersion())) refuse(node);
    }
  }

  bool is_rewritten(Node& node, int version) {
    if (const MovedArgument* const moved = moved_argument(node.op_type()); moved != nullptr && moved->version == version) {
      move(node, {moved->attribute}, moved->input);
      return true;
    }
    for (const Operands& entry : moved_operands()) {
      if (entry.op != node.op_type() || entry.version != version) continue;
      if (node.is("Slice") || node.is("Pad") || node.is("Clip")) move(node, entry.attributes, 1);
      if (node.is("Dropout")) node.graph().edit(node).clear_attribute();
      return true;
    }
    if (version != kOneAxisOpset || (!node.is("Softmax") && !node.is("LogSoftmax"))) return false;
    rewrite_softmax(node);
    return true;
  }

  /// The attributes as constant operands, from number `input` on.
  void move(Node& node, const std::vector<std::string_view>& attributes, std::size_t input) {
    for (const std::string_view name : attributes) {
      const onnx::AttributeProto* const attribute = node.attribute(name);
      if (attribute != nullptr) {
        const bool is_real = attribute->type() == onnx::AttributeProto_AttributeType_FLOAT;
        // The lowest and highest number stand for no limit.
        const bool is_limit = node.is("Clip") && std::fabs(attribute->f()) == std::numeric_limits<float>::max();
        if (!is_limit) node.graph().set_input(node, input, constant(node, *attribute, is_real));
        erase(node, name);
      }
      ++input;
    }
  }

  Value* constant(Node& node, const onnx::AttributeProto& attribute, bool is_real) {
    onnx::NodeProto message = node_message("Constant", {}, {model_.unique_name("constant")});
    onnx::AttributeProto& value = *message.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto_AttributeType_TENSOR);
    onnx::TensorProto& tensor = *value.mutable_t();
    if (is_real) {
      tensor.set_data_type(onnx::TensorProto_DataType_FLOAT);
      tensor.add_float_data(attribute.f());
    } else {
      tensor.set_data_type(onnx::TensorProto_DataType_INT64);
      tensor.add_dims(attribute.ints_size());
      for (const int64_t one : attribute.ints()) tensor.add_int64_data(one);
    }
    Node& made = node.graph().insert_before(node.graph().position_of(node), message);
    if (!is_real) return made.output(0);
    // The operand has the type of the data.
    Node& cast = node.graph().insert_before(
        node.graph().position_of(node),
        node_message("CastLike", {made.output(0)->name(), node.input(0)->name()}, {model_.unique_name("constant")}));
    return cast.output(0);
  }

  static void erase(Node& node, std::string_view name) {
    auto& attributes = *node.graph().edit(node).mutable_attribute();
    for (int i = attributes.size(); i-- > 0;) {
      if (attributes[i].name() == name) attributes.DeleteSubrange(i, 1);
    }
  }

  /// One axis instead of all from it on: the same where no other one follows; else of rows that have all of them.
  void rewrite_softmax(Node& node) {
    Graph& graph = node.graph();
    Sizes sizes(graph);
    const int64_t axis = Attributes(node).integer("axis", 1);
    const auto rank = sizes.rank(*node.input(0));
    const auto place = checked_axis(axis, rank.value_or(0));
    bool is_last = place.has_value();
    for (std::size_t i = place.value_or(0) + 1; rank && i < *rank; ++i) is_last = is_last && sizes.dim(*node.input(0), i) == 1;
    if (is_last) return set_integer(graph.edit(node), "axis", static_cast<int64_t>(*place));
    Value& out = *node.output(0);
    const std::string whole = node.input(0)->name();
    (void)graph.detach(out, model_.unique_name(out.name() + ".rows"));
    Writer w(graph);
    w.name_after(out.name());
    w.stand_before(graph.position_of(node));
    graph.set_input(node, 0, graph.find(w.make("Flatten", {whole}, {{"axis", axis}})));
    graph.edit(node).clear_attribute();
    w.stand_before(std::next(graph.position_of(node)));
    w.make_named(w.make("Reshape", {node.output(0)->name(), w.shape(whole)}), out.name());
  }

  Model& model_;
  int64_t from_, least_;
};

}  // namespace

void raise_opset(Model& model, int64_t least) {
  if (model.opset("") < least) Raiser(model, least).run();
}

}  // namespace relayout::derive
