#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "model/origin.h"

namespace relayout {

/// A format that users mistake for ONNX.
struct Foreign {
  std::string_view what;  ///< "a TensorFlow SavedModel, not an ONNX model"
  std::string_view hint;  ///< suggested action; may be empty
};

/// The format of a file by its first bytes; nothing when it is not a known one.
[[nodiscard]] std::optional<Foreign> foreign_format(std::string_view first_bytes) noexcept;

/// The first 512 bytes, or the whole file if it is shorter.
[[nodiscard]] std::string first_bytes(const File& file);
/// Whether there are no control characters except those of plain text.
[[nodiscard]] bool is_text(std::string_view bytes);
/// Throws Error{invalid} when the file is recognised as anything but an ONNX model: empty, an archive, a Git LFS pointer, a different model
/// format, text.
void refuse_foreign(const File& file);
/// Whether the first field is the one that ONNX writers begin with, so that a later fault is damage.
[[nodiscard]] bool begins_like_a_model(const File& file);
/// Throws Error{invalid} for a file that the walk accepted but protobuf does not parse, naming the innermost faulty field.
[[noreturn]] void refuse_malformed(const ModelOrigin& origin);

}  // namespace relayout
