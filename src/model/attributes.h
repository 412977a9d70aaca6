#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// Typed access to a node's attributes. Reading an attribute of a different type than requested is Error{invalid} naming node and
/// attribute.
/// Reading one that refers to an attribute of the enclosing function (ref_attr_name) is Error{unsupported}.
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

  /// Told of every attribute that is looked up on this thread, present or not: shows which ones an operator reads. Empty: nobody is told.
  using Observer = std::function<void(const Node& node, std::string_view name)>;
  static void observe(Observer observer);

 private:
  [[nodiscard]] const onnx::AttributeProto* look_up(std::string_view name) const;
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name, int type) const;

  const Node* node_;
  Lookup lookup_;
};

}  // namespace relayout
