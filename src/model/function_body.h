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

/// The nodes of a function as they read in place of one call of it (ONNX IR specification, "Functions"): values of the function under
/// names of their own, attribute references replaced by what the call gives, by the function's default, or by nothing.
class FunctionBody {
 public:
  FunctionBody(Model& model, const onnx::NodeProto& call, const onnx::FunctionProto& function, std::string prefix)
      : model_(model), call_(call), function_(function), prefix_(std::move(prefix)) {}

  /// The name that stands for a value of the function; "": none.
  void bind(const std::string& inner, const std::string& outer) { names_[inner] = outer; }
  /// The name that stands for a value of the function; one that was not bound gets a unique one.
  [[nodiscard]] const std::string& name_of(const std::string& inner);
  /// A node of the function. Payloads that lie in the model's file stay there.
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
