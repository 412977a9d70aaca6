#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// A NodeProto decoded from protobuf's encoding into name, operands, and the bytes of all other fields. Nodes that agree in these bytes are
/// of one kind (operator, attributes, annotations), and large models have few kinds.
struct PlainNode {
  std::string_view name;  ///< empty: absent, or present but empty and then also among the rest
  std::vector<std::string_view> inputs, outputs;
  std::string rest;

  /// Decodes `bytes`; the views point into these. False if only protobuf's parser can decide: unknown groups, malformed bytes.
  [[nodiscard]] bool read(std::string_view bytes);
};

}  // namespace relayout
