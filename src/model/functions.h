#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace onnx {

class FunctionProto;

}

namespace relayout {

/// Whether a node names this function: by domain, name and overload.
[[nodiscard]] bool calls(const Node& node, const onnx::FunctionProto& function);

/// The functions of a model by domain, name and overload. Valid as long as no function is erased.
class Functions {
 public:
  explicit Functions(const Model& model);
  /// The function that a node calls, or nullptr.
  [[nodiscard]] const Graph* called_by(const Node& node) const;
  /// The first function with the domain, name and overload of this one, or nullptr.
  [[nodiscard]] const Graph* like(const onnx::FunctionProto& function) const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, const Graph*, std::less<>> functions_;
};

/// The value inside a node that receives operand `index`: an input of the function that it calls, or of the body of a Loop or Scan;
/// nullptr: none. (Graphs of an If capture what they read.)
[[nodiscard]] const Value* receiver_of(const Node& node, std::size_t index, const Functions& functions);

/// Whether `holds` for a node, or for one in the graphs and functions that it runs.
template <class Holds>
[[nodiscard]] bool any_node_run(const Node& node, const Functions& functions, const Holds& holds) {
  std::vector<const Node*> open{&node};
  std::unordered_set<const Graph*> seen;
  const auto enter = [&](const Graph& graph) {
    if (!seen.insert(&graph).second) return;
    for (const Node& inner : graph.nodes()) open.push_back(&inner);
  };
  while (!open.empty()) {
    const Node& at = *open.back();
    open.pop_back();
    if (holds(at)) return true;
    for (const std::unique_ptr<Graph>& graph : at.subgraphs()) enter(*graph);
    if (const Graph* const function = functions.called_by(at)) enter(*function);
  }
  return false;
}

}  // namespace relayout

namespace onnx {

class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;

}  // namespace onnx

namespace relayout {

class Model;

/// The nodes of a function inlined at one call (ONNX IR specification, "Functions"). Values of the function get unique names. An attribute
/// reference is replaced by the attribute of the call or the function's default, or is removed. Without a prefix, nodes keep their names.
class FunctionBody {
 public:
  FunctionBody(Model& model, const onnx::NodeProto& call, const onnx::FunctionProto& function, std::string prefix)
      : model_(model), call_(call), function_(function), prefix_(std::move(prefix)) {}

  /// Sets the name in the caller for a value of the function; "": absent.
  void bind(const std::string& inner, const std::string& outer) { names_[inner] = outer; }
  /// The name in the caller for a value of the function. An unbound value gets a unique name.
  [[nodiscard]] const std::string& name_of(const std::string& inner);
  /// The inlined form of a node of the function. Payloads in the model's file stay there.
  [[nodiscard]] onnx::NodeProto node(const onnx::NodeProto& inner);

 private:
  void rename(onnx::NodeProto& node);
  void rename(onnx::GraphProto& graph);
  void resolve(onnx::NodeProto& node) const;
  [[nodiscard]] const onnx::AttributeProto* given(const std::string& reference) const;
  [[nodiscard]] std::string unique(const std::string& inner);

  Model& model_;
  const onnx::NodeProto& call_;
  const onnx::FunctionProto& function_;
  std::string prefix_;
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace relayout
