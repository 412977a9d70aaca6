// Compares two graphs node by node, and pairs the constants that they read.
#include "derive/structure.h"

#include <onnx/onnx_pb.h>

#include "base/numbers.h"
#include "base/text.h"
#include "model/tensor_data.h"

namespace relayout::derive {
namespace {

/// Attributes as text, in order of their names, without the contents of a Constant.
std::string attributes_text(const Node& node) {
  std::vector<std::string> parts;
  onnx::NodeProto message = node.whole_message();
  message.DiscardUnknownFields();
  for (onnx::AttributeProto& attribute : *message.mutable_attribute()) {
    attribute.clear_doc_string();
    if (node.is("Constant") && attribute.name() == "value") continue;
    parts.push_back(attribute.SerializeAsString());
  }
  std::ranges::sort(parts);
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

/// The type and dims of stored contents; "" for others.
std::string stored_form(const Value& value) {
  const auto form = [](DataType type, const Dims& dims) { return std::string(name_of(type)) + " " + to_string(dims); };
  if (value.initializer() != nullptr) {
    const TensorData* const data = value.initializer()->data.get();
    return data == nullptr ? "sparse, or of strings" : form(data->type(), data->dims());
  }
  const Node* const node = value.producer();
  if (node == nullptr || !node->is("Constant")) return "";
  if (node->constant_data() != nullptr) return form(node->constant_data()->type(), node->constant_data()->dims());
  const onnx::AttributeProto* const tensor = node->attribute("value");
  if (tensor == nullptr) return "";
  return form(static_cast<DataType>(tensor->t().data_type()), Dims(tensor->t().dims().begin(), tensor->t().dims().end()));
}

class Pairing {
 public:
  explicit Pairing(Counterparts& counterparts) : counterparts_(counterparts) {}

  std::string inputs(const Graph& a, const Graph& b) {
    for (const Value* input : a.inputs()) {
      if (input->initializer() != nullptr) continue;
      const Value* const other = b.find(input->name());
      if (other == nullptr || !other->is_input()) return "no input " + quote(input->name());
      pairs_[input] = other;
    }
    return "";
  }

  std::string node(const Node& a, const Node& b) {
    if (a.op_type() != b.op_type() || a.domain() != b.domain()) return a.label() + " and " + b.label();
    if (!a.subgraphs().empty()) return a.label() + " runs other graphs";
    if (attributes_text(a) != attributes_text(b)) return "attributes of " + a.label() + " and " + b.label();
    if (a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) return "operands of " + a.label();
    for (std::size_t i = 0; i < a.inputs().size(); ++i) {
      if (!match(a.input(i), b.input(i))) return "operand " + std::to_string(i) + " of " + a.label() + " and " + b.label();
    }
    for (std::size_t i = 0; i < a.outputs().size(); ++i) {
      if ((a.output(i) == nullptr) != (b.output(i) == nullptr)) return "outputs of " + a.label();
      if (a.output(i) == nullptr) continue;
      pairs_[a.output(i)] = b.output(i);
      if (a.is("Constant") && !stored_form(*a.output(i)).empty()) {
        if (stored_form(*a.output(i)) != stored_form(*b.output(i))) return "dims of " + a.label() + " and " + b.label();
        counterparts_[a.output(i)] = b.output(i);
      }
    }
    return "";
  }

  bool match(const Value* a, const Value* b) {
    if (a == nullptr || b == nullptr) return a == b;
    const auto known = pairs_.find(a);
    if (known != pairs_.end()) return known->second == b;
    if (a->initializer() == nullptr || b->initializer() == nullptr || stored_form(*a) != stored_form(*b)) return false;
    pairs_[a] = b;
    counterparts_[a] = b;
    return true;
  }

 private:
  Counterparts& counterparts_;
  std::unordered_map<const Value*, const Value*> pairs_;
};

}  // namespace

std::string structural_difference(const Graph& a, const Graph& b, Counterparts& counterparts) {
  Pairing pairing(counterparts);
  if (std::string why = pairing.inputs(a, b); !why.empty()) return why;
  auto other = b.nodes().begin();
  for (const Node& node : a.nodes()) {
    if (other == b.nodes().end()) return node.label() + " has no counterpart";
    if (std::string why = pairing.node(node, *other); !why.empty()) return why;
    ++other;
  }
  if (other != b.nodes().end()) return other->label() + " has no counterpart";
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    if (i >= b.outputs().size() || !pairing.match(a.outputs()[i], b.outputs()[i])) return "output " + quote(a.outputs()[i]->name());
  }
  return "";
}

}  // namespace relayout::derive
