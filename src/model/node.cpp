// Reads attributes and names of nodes, builds the messages of new ones, and finds those that values depend on.
#include "model/node.h"

#include <onnx/onnx_pb.h>

#include "base/text.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout {

// Attributes.
namespace {

using onnx::AttributeProto;

/// The declared type, or for files older than that requirement, the type of the non-empty field.
AttributeProto::AttributeType type_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

std::string type_name(AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT:
      return "a float";
    case AttributeProto::INT:
      return "an integer";
    case AttributeProto::STRING:
      return "a string";
    case AttributeProto::TENSOR:
      return "a tensor";
    case AttributeProto::FLOATS:
      return "a list of floats";
    case AttributeProto::INTS:
      return "a list of integers";
    case AttributeProto::STRINGS:
      return "a list of strings";
    default:
      return "of another type";
  }
}

thread_local Attributes::Observer observer_of_thread;

}  // namespace

bool has_type(const AttributeProto& attribute, int type) {
  const AttributeProto::AttributeType found = type_of(attribute);
  const bool is_list = type == AttributeProto::FLOATS || type == AttributeProto::INTS || type == AttributeProto::STRINGS;
  return found == type || (found == AttributeProto::UNDEFINED && is_list);
}

void Attributes::observe(Observer observer) {
  observer_of_thread = std::move(observer);
}

const AttributeProto* Attributes::look_up(std::string_view name) const {
  if (observer_of_thread) observer_of_thread(*node_, name);
  return lookup_ ? lookup_(name) : node_->attribute(name);
}

/// The attribute, or nullptr when absent; fails when it is of a different type.
const AttributeProto* Attributes::find(std::string_view name, int type) const {
  const AttributeProto* const attribute = look_up(name);
  if (attribute == nullptr) return nullptr;
  const auto place = [&] { return "node " + node_->label() + ": attribute " + quote(name) + " "; };
  if (!attribute->ref_attr_name().empty()) fail(ErrorKind::unsupported, place() + "takes its value from the caller of the function");
  if (has_type(*attribute, type)) return attribute;
  fail(ErrorKind::invalid,
       place() + "is " + type_name(type_of(*attribute)) + ", not " + type_name(static_cast<AttributeProto::AttributeType>(type)));
}

bool Attributes::has(std::string_view name) const {
  return look_up(name) != nullptr;
}

std::optional<int64_t> Attributes::integer(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::INT);
  if (attribute == nullptr) return std::nullopt;
  return attribute->i();
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  return integer(name).value_or(otherwise);
}

std::optional<float> Attributes::real(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::FLOAT);
  if (attribute == nullptr) return std::nullopt;
  return attribute->f();
}

float Attributes::real(std::string_view name, float otherwise) const {
  return real(name).value_or(otherwise);
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* const attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::vector<int64_t> Attributes::integers(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> Attributes::reals(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> Attributes::texts(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

const onnx::TensorProto* Attributes::tensor(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::TENSOR);
  return attribute == nullptr ? nullptr : &attribute->t();
}

bool Attributes::has_reference() const {
  for (const AttributeProto& attribute : node_->message().attribute()) {
    if (attribute.ref_attr_name().empty()) continue;
    const AttributeProto* const found = look_up(attribute.name());
    if (found != nullptr && !found->ref_attr_name().empty()) return true;
  }
  return false;
}

// Names.

Value* first_output(const Node& node) noexcept {
  const auto found = std::ranges::find_if(node.outputs(), [](const Value* output) { return output != nullptr; });
  return found != node.outputs().end() ? *found : nullptr;
}

const std::string& reported_name(const Node& node) noexcept {
  const Value* const output = first_output(node);
  return node.name().empty() && output != nullptr ? output->name() : node.name();
}

bool is_called(const Node& node, const std::string& name) noexcept {
  const Value* const output = first_output(node);
  return node.name() == name || (output != nullptr && output->name() == name);
}

const Node* find_node(const Graph& graph, const std::string& name) noexcept {
  const auto found = std::ranges::find_if(graph.nodes(), [&](const Node& node) { return is_called(node, name); });
  return found == graph.nodes().end() ? nullptr : &*found;
}

// Messages of new nodes.
namespace {

/// The attribute of this name, which is added if it is absent.
onnx::AttributeProto& attribute_of(onnx::NodeProto& message, std::string_view name) {
  for (onnx::AttributeProto& attribute : *message.mutable_attribute()) {
    if (attribute.name() == name) return attribute;
  }
  onnx::AttributeProto& added = *message.add_attribute();
  added.set_name(std::string(name));
  return added;
}

}  // namespace

onnx::NodeProto node_message(std::string_view op_type, std::initializer_list<std::string_view> inputs,
                             std::initializer_list<std::string_view> outputs, std::string_view name) {
  onnx::NodeProto out;
  out.set_op_type(std::string(op_type));
  if (!name.empty()) out.set_name(std::string(name));
  for (const std::string_view input : inputs) out.add_input(std::string(input));
  for (const std::string_view output : outputs) out.add_output(std::string(output));
  return out;
}

void set_integer(onnx::NodeProto& message, std::string_view name, int64_t value) {
  onnx::AttributeProto& attribute = attribute_of(message, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_integers(onnx::NodeProto& message, std::string_view name, std::span<const int64_t> values) {
  onnx::AttributeProto& attribute = attribute_of(message, name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(values.begin(), values.end());
}

// Nodes that values depend on.

std::unordered_set<const Node*> needed_nodes(std::vector<const Value*> values) {
  std::unordered_set<const Node*> out;
  std::vector<const Value*> open = std::move(values);
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || !out.insert(node).second) continue;
    for (const Value* const input : node->inputs()) {
      if (input != nullptr) open.push_back(input);
    }
    for (const auto& nested : node->subgraphs()) open.insert(open.end(), nested->outputs().begin(), nested->outputs().end());
  }
  return out;
}

std::unordered_set<const Node*> needed_nodes(const Graph& graph) {
  return needed_nodes({graph.outputs().begin(), graph.outputs().end()});
}

}  // namespace relayout
