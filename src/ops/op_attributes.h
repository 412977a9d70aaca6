#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Why the kernel or body of an operator does not read an attribute of its schema.
enum class Unread : uint8_t {
  hint,      ///< for memory or speed, or it repeats what operands and results show
  training,  ///< for training, where no model is run
  order,     ///< leaves the order of results open, of which the kernel makes the sorted one
  ignored,   ///< ONNX Runtime does not read it either
  inner,     ///< the type of inner results: see inner_type()
};
struct UnreadAttribute {
  std::string_view domain, op, name;  ///< no `op`: of every operator
  Unread why;
};
[[nodiscard]] std::span<const UnreadAttribute> unread_attributes();

/// An attribute of ONNX's that its operator reads only where another attribute has this text, this input is given, or results are wanted
/// beyond the first.
struct ConditionalAttribute {
  std::string_view op, name;
  std::string_view other, otherwise, text;  ///< `otherwise`: the default of `other`
  std::size_t input = 0;
};
[[nodiscard]] std::span<const ConditionalAttribute> conditional_attributes();

/// The attributes that parametrize an activation, in the order of ONNX Runtime's fused operators; nullopt: it is none of theirs.
[[nodiscard]] std::optional<std::vector<std::string_view>> activation_parameters(std::string_view activation);

/// Whether an attribute gives the type in which an operator computes inside: it moves results within the rounding of that type, which
/// kernels do not imitate.
[[nodiscard]] bool gives_inner_type(const Node& node, std::string_view attribute);
/// The type in which an attribute lets a node compute inside, if it is coarser than f32: f16, bf16, or int8 for numbers that are quantized
/// by block; undefined: none.
[[nodiscard]] DataType inner_type(const Node& node);
/// Whether a node of 16-bit operands computes in f32 inside: a normalization with attribute stash_type, unless that names another type.
[[nodiscard]] bool computes_in_float32(const Node& node);

}  // namespace relayout

namespace onnx {

class AttributeProto;

}

namespace relayout {

class Node;

/// The value of an attribute that is not written, of an operator of com.microsoft or one newer than the linked ONNX; nullptr: there is
/// none, or it is not known.
[[nodiscard]] const onnx::AttributeProto* default_beyond_schemas(std::string_view domain, std::string_view op_type,
                                                                 std::string_view attribute);

class Model;
class Node;

/// Operators of a model that neither the op table nor the linked ONNX library nor the model's own functions define, as "domain:Op", sorted.
/// Nested graphs and functions are searched too.
[[nodiscard]] std::vector<std::string> unknown_operators(const Model& model);

/// The first difference between a node and its operator in the node's opset, which shows that the node is meant for another opset:
/// "no attribute 'axes' in opset 21", "at most 1 input in opset 13". Nothing without a difference, or when the operator is not ONNX's.
/// Attributes whose names begin with two underscores belong to tools.
[[nodiscard]] std::optional<std::string> other_version(const Node& node);

}  // namespace relayout
