#pragma once

#include <string_view>

namespace onnx {
class AttributeProto;
}

namespace relayout {

class Node;

/// The value that an attribute of an operator of com.microsoft has if it is not written; nullptr if there is none or it is not known.
[[nodiscard]] const onnx::AttributeProto* microsoft_default(const Node& node, std::string_view attribute);

}  // namespace relayout
