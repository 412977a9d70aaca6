// Declares what passes and reports read from a node and write into its message.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft", kMlDomain = "ai.onnx.ml";

/// The default domain of ONNX has two names; this returns the empty one for both.
[[nodiscard]] constexpr std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

/// The first output that is present; nullptr if there is none.
[[nodiscard]] Value* first_output(const Node& node) noexcept;
/// The name of a node in findings, diff, layout, profile and verify, and in --only and --exclude: its own, or that of its first present
/// output if it has none.
[[nodiscard]] const std::string& reported_name(const Node& node) noexcept;
/// Whether a report may mean this node by `name`: it is the node's own name, or that of its first present output.
[[nodiscard]] bool is_called(const Node& node, const std::string& name) noexcept;
/// The first node of a graph, not of those within its nodes, that a report may mean by `name`; nullptr: none.
[[nodiscard]] const Node* find_node(const Graph& graph, const std::string& name) noexcept;

}  // namespace relayout

namespace onnx {

class NodeProto;

}  // namespace onnx

namespace relayout {

/// The message of a new node in the default domain, without attributes.
[[nodiscard]] onnx::NodeProto node_message(std::string_view op_type, std::initializer_list<std::string_view> inputs,
                                           std::initializer_list<std::string_view> outputs, std::string_view name = "");
/// Sets an integer attribute, which is added if it is absent.
void set_integer(onnx::NodeProto& message, std::string_view name, int64_t value);
/// Sets an attribute that is a list of integers, which is added if it is absent.
void set_integers(onnx::NodeProto& message, std::string_view name, std::span<const int64_t> values);

/// Typed access to a node's attributes. Reading an attribute of a different type than requested is Error{invalid} naming node and
/// attribute. Reading one that refers to an attribute of the enclosing function (ref_attr_name) is Error{unsupported}.
class Attributes {
 public:
  explicit Attributes(const Node& node) : node_(&node) {}
  /// Attributes found by `lookup`: those of a node in a function, as resolved for one call.
  using Lookup = std::function<const onnx::AttributeProto*(std::string_view name)>;
  Attributes(const Node& node, Lookup lookup) : node_(&node), lookup_(std::move(lookup)) {}
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] int64_t integer(std::string_view name, int64_t otherwise) const;
  [[nodiscard]] std::optional<int64_t> integer(std::string_view name) const;
  [[nodiscard]] float real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::optional<float> real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<int64_t> integers(std::string_view name) const;  ///< empty when absent
  [[nodiscard]] std::vector<float> reals(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] const onnx::TensorProto* tensor(std::string_view name) const;
  /// Whether any attribute refers to an attribute of the enclosing function.
  [[nodiscard]] bool has_reference() const;
  [[nodiscard]] const Node& node() const noexcept { return *node_; }

  /// Told of every attribute that is looked up on this thread, present or not: shows which ones an operator reads. Empty: there is no
  /// listener.
  using Observer = std::function<void(const Node& node, std::string_view name)>;
  static void observe(Observer observer);

 private:
  [[nodiscard]] const onnx::AttributeProto* look_up(std::string_view name) const;
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name, int type) const;

  const Node* node_;
  Lookup lookup_;
};

/// Whether an attribute has this AttributeProto::AttributeType. An empty list in a file without types has that of any list.
[[nodiscard]] bool has_type(const onnx::AttributeProto& attribute, int type);

/// Nodes that values depend on, including those in nested graphs.
[[nodiscard]] std::unordered_set<const Node*> needed_nodes(std::vector<const Value*> values);

/// Nodes that the outputs of a graph depend on.
[[nodiscard]] std::unordered_set<const Node*> needed_nodes(const Graph& graph);

/// Calls `visit` for each graph in an attribute (a protobuf message), in the order in which Node numbers them.
template <class Attribute, class Visit>
void for_each_graph_in(Attribute& attribute, const Visit& visit) {
  if constexpr (std::is_const_v<Attribute>) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  } else {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

}  // namespace relayout
