#pragma once

#include <string>
#include <vector>

namespace relayout {

class Model;

/// Operators of a model that neither the op table nor the linked ONNX library nor the model's own functions know, as "domain:Op",
/// sorted. Nested graphs and functions are looked into.
[[nodiscard]] std::vector<std::string> unknown_operators(const Model& model);

}  // namespace relayout
