#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// A NodeProto in protobuf's encoding, taken apart: its name and operands, and the bytes of all other fields. Nodes that agree in those
/// are of one kind (operator, attributes, annotations), and large models have few kinds.
struct PlainNode {
  std::string_view name;  ///< empty: none, or an empty one, which is among the rest too
  std::vector<std::string_view> inputs, outputs;
  std::string rest;

  /// Takes `bytes` apart, which the views point into. False for what only protobuf's parser can judge: unknown groups, and bytes that are
  /// no message.
  [[nodiscard]] bool read(std::string_view bytes);
};

}  // namespace relayout
