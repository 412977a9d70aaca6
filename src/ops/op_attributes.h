#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

/// Whether an attribute gives the type in which an operator computes inside: it moves results within the rounding of that type, which
/// kernels do not imitate.
[[nodiscard]] bool gives_inner_type(const Node& node, std::string_view attribute);
/// The type in which an attribute lets a node compute inside, if it is coarser than f32: f16, bf16, or int8 for numbers that are quantized
/// by block; undefined: none.
[[nodiscard]] DataType inner_type(const Node& node);

}  // namespace relayout
