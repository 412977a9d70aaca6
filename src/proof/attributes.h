#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_history.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Whether two nodes name the same operator (domain, name, overload).
[[nodiscard]] bool same_operator(const Node& a, const Node& b);

/// Names of the attributes in which the producers of two values differ, with tensors compared by their elements. An absent attribute has
/// the default of its operator's version, if there is one. Nested graphs are not examined, except that both nodes must have them under the
/// same names. `ignored` is an attribute that may differ.
[[nodiscard]] std::vector<std::string> different_attributes(Side& side_a, Ref a, Side& side_b, Ref b, std::string_view ignored = {});

/// Measures a floating-point attribute that differs, like a constant with one element: its distance from that of the other node. Sizes,
/// axes and texts are not measured.
void measure_number(const Node& a, const Node& b, std::string_view name, Unexplained& entry);

struct Claim;
/// repairs.cpp: the attribute in both producers.
[[nodiscard]] Repair repair_of_attribute(const Claim& claim, const std::string& name);

}  // namespace relayout::proof

namespace onnx {

class AttributeProto;

}

namespace relayout::proof {

/// Whether two nodes of the same operator compute the same from the same operands and attributes. Their operator sets have the same version
/// of it, or versions without a change that affects these nodes. The history of operators of other domains is unknown: their versions must
/// be equal.
[[nodiscard]] bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b);

/// The argument that the versions of the two nodes take differently; empty if there is none.
[[nodiscard]] std::optional<MovedArgument> moved_argument(const Node& a, const Node& b);
/// Whether the argument is present on both sides with the same constant numbers, or on neither.
[[nodiscard]] bool is_same_argument(Side& side_a, Ref a, Side& side_b, Ref b, const MovedArgument& argument);

/// Default of an attribute in the node's version of its operator.
struct AttributeDefault {
  bool is_defined = false;                      ///< the version defines the attribute
  const onnx::AttributeProto* value = nullptr;  ///< nullptr: no default, or one that depends on the node
};
[[nodiscard]] AttributeDefault attribute_default(const Node& node, const std::string& name);

/// Whether writing the attribute is equivalent to leaving it out, because the node's operands imply its value, or
/// it has a default that the schema only describes (strides and dilations of 1, pads of 0, the weight's kernel_shape, axes of Transpose in
/// reverse order …).
[[nodiscard]] bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute);

}  // namespace relayout::proof
