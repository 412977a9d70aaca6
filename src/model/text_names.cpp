// Changes names created by a conversion (`w.channels_last`) into identifiers, and drops new names of nodes, when a model is written in
// ONNX's textual syntax. That syntax has only identifiers, and no names of nodes. Names of the input model never change.
#include "model/text_names.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "model/message_walk.h"

namespace relayout {
namespace {

bool is_letter_or_digit(char c) {
  return (c & 0x80) == 0 && std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Calls of_value for each name of a value and of_node for each name of a node, in nested graphs too.
template <class OfValue, class OfNode>
class NameWalk {
 public:
  NameWalk(const OfValue& of_value, const OfNode& of_node) : of_value_(of_value), of_node_(of_node) {}

  void walk(onnx::ModelProto& model) const {
    walk(*model.mutable_graph());
    for (onnx::FunctionProto& function : *model.mutable_functions()) {
      for (auto* const names : {function.mutable_input(), function.mutable_output()}) std::ranges::for_each(*names, of_value_);
      walk_entries(*function.mutable_value_info());
      for (onnx::NodeProto& node : *function.mutable_node()) walk(node);
    }
  }

 private:
  void walk(onnx::GraphProto& graph) const {
    walk_entries(*graph.mutable_input());
    walk_entries(*graph.mutable_output());
    walk_entries(*graph.mutable_value_info());
    walk_entries(*graph.mutable_initializer());
    for (auto& sparse : *graph.mutable_sparse_initializer()) of_value_(*sparse.mutable_values()->mutable_name());
    for (auto& annotation : *graph.mutable_quantization_annotation()) {
      of_value_(*annotation.mutable_tensor_name());
      for (auto& entry : *annotation.mutable_quant_parameter_tensor_names()) of_value_(*entry.mutable_value());
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) walk(node);
  }

  void walk(onnx::NodeProto& node) const {
    if (!node.name().empty()) of_node_(node);
    for (auto* const names : {node.mutable_input(), node.mutable_output()}) std::ranges::for_each(*names, of_value_);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      for_each_graph_in(attribute, [&](onnx::GraphProto& nested) { walk(nested); });
    }
  }

  template <class Entries>
  void walk_entries(Entries& entries) const {
    for (auto& entry : entries) of_value_(*entry.mutable_name());
  }

  const OfValue& of_value_;
  const OfNode& of_node_;
};

struct TextNames {
  std::unordered_set<std::string> values, nodes;
};

TextNames names_of(onnx::ModelProto model) {
  TextNames out;
  const auto of_value = [&](const std::string& name) { out.values.insert(name); };
  const auto of_node = [&](const onnx::NodeProto& node) { out.nodes.insert(node.name()); };
  NameWalk(of_value, of_node).walk(model);
  return out;
}

/// The name with `__` for each dot (by which passes recognise their own names) and `_` for other characters not allowed in identifiers;
/// with a number if the result is taken.
std::string identifier_like(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string base;
  for (const char c : name) base += is_letter_or_digit(c) ? std::string(1, c) : c == '.' ? "__" : "_";
  if (std::isdigit(static_cast<unsigned char>(base.front())) != 0) base.insert(0, "_");
  std::string out = base;
  for (int64_t number = 2; !taken.insert(out).second; ++number) out = base + "_" + std::to_string(number);
  return out;
}

}  // namespace

bool is_identifier(const std::string& name) {
  const auto is_word = [](char c) { return is_letter_or_digit(c) || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 && std::ranges::all_of(name, is_word);
}

void make_new_names_writable(onnx::ModelProto& model, const onnx::ModelProto& original) {
  const TextNames before = names_of(original);
  std::unordered_set<std::string> taken = names_of(model).values;
  std::unordered_map<std::string, std::string> renamed;
  const auto of_value = [&](std::string& name) {
    if (name.empty() || is_identifier(name) || before.values.contains(name)) return;
    std::string& other = renamed[name];
    if (other.empty()) other = identifier_like(name, taken);
    name = other;
  };
  const auto of_node = [&](onnx::NodeProto& node) {
    if (!before.nodes.contains(node.name())) node.clear_name();
  };
  NameWalk(of_value, of_node).walk(model);
}

}  // namespace relayout
