#pragma once

#include <string>

namespace onnx {
class AttributeProto;
}

namespace relayout {

/// The value of an attribute as one short printable line: "[1, 1]", "0.5", "'nearest'", "f32 [64, 3]", "a graph".
[[nodiscard]] std::string attribute_text(const onnx::AttributeProto& attribute);

}  // namespace relayout
