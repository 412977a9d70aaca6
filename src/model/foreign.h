#pragma once

#include <optional>
#include <string_view>

namespace relayout {

/// A format that people take for ONNX.
struct Foreign {
  std::string_view what;  ///< "a TensorFlow SavedModel, not an ONNX model"
  std::string_view hint;  ///< what to do instead; may be empty
};

/// By how a file begins; nothing where that is no known format.
[[nodiscard]] std::optional<Foreign> foreign_format(std::string_view first_bytes) noexcept;

}  // namespace relayout
