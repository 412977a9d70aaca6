#pragma once

#include <optional>
#include <string_view>

namespace relayout {

/// A format that users mistake for ONNX.
struct Foreign {
  std::string_view what;  ///< "a TensorFlow SavedModel, not an ONNX model"
  std::string_view hint;  ///< suggested action; may be empty
};

/// The format of a file by its first bytes; nothing when it is not a known one.
[[nodiscard]] std::optional<Foreign> foreign_format(std::string_view first_bytes) noexcept;

}  // namespace relayout
