#pragma once

#include <string>
#include <unordered_map>

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace relayout {

class Model;

/// The nodes of a function inlined at one call (ONNX IR specification, "Functions"). Values of the function get unique names. An attribute
/// reference is replaced by the attribute of the call or the function's default, or is removed.
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
