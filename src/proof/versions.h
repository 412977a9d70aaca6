#pragma once

#include <optional>
#include <string>

#include "ops/op_history.h"
#include "proof/side.h"

namespace onnx {
class AttributeProto;
}

namespace relayout::proof {

/// Whether two nodes of the same operator compute the same when their operands and attributes are the same: their operator sets mean the
/// same version of it, or versions between which nothing changed that these nodes could show. Operators of other domains have no history
/// that is known here: only the same version is the same.
[[nodiscard]] bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b);

/// The argument that the nodes take differently; nothing when there is none.
[[nodiscard]] std::optional<MovedArgument> moved_argument(const Node& a, const Node& b);
/// Whether it is there on both sides with the same constant numbers, or on neither.
[[nodiscard]] bool is_same_argument(Side& side_a, Ref a, Side& side_b, Ref b, const MovedArgument& argument);

/// Default of this attribute in the node's version of its operator.
struct AttributeDefault {
  bool is_defined = false;                      ///< the version has such an attribute
  const onnx::AttributeProto* value = nullptr;  ///< nullptr: none, or one that depends on the node
};
[[nodiscard]] AttributeDefault attribute_default(const Node& node, const std::string& name);

/// Whether writing the attribute says no more than leaving it out: the default of its operator's schema, or one that the schema only
/// describes (strides and dilations of 1, pads of 0, the kernel_shape that the weight has, axes of Transpose in reverse order …).
[[nodiscard]] bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute);

}  // namespace relayout::proof
