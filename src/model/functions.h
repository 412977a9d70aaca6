#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>

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

}  // namespace relayout
