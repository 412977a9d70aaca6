#pragma once

#include <string>

#include "proof/side.h"

namespace onnx {
class AttributeProto;
}

namespace relayout::proof {

/// Whether two nodes of the same operator compute the same when their operands and attributes are the same: their operator sets mean the
/// same version of it, or versions between which nothing changed that these nodes could show. Operators of other domains have no history
/// that is known here: only the same version is the same.
[[nodiscard]] bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b);

/// What the node's version of its operator takes when this attribute is not written.
struct AttributeDefault {
  bool is_defined = false;                      ///< the version has such an attribute
  const onnx::AttributeProto* value = nullptr;  ///< nullptr: none, or one that depends on the node
};
[[nodiscard]] AttributeDefault attribute_default(const Node& node, const std::string& name);

/// Whether writing the attribute says no more than leaving it out: the default of its operator's schema, or one that the schema only
/// describes (strides and dilations of 1, pads of 0, the kernel_shape that the weight has, axes of Transpose in reverse order …).
[[nodiscard]] bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute);

}  // namespace relayout::proof
