#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace relayout {

/// When tensors are stored in a data file next to the model.
enum class ExternalData : uint8_t {
  automatic,  ///< as in the input model; also when a single file would exceed 2 GiB
  always,     ///< all initializers of at least the threshold's size
  never,
};
/// The default size, in bytes, from which a tensor is stored outside of the model file.
inline constexpr int64_t kExternalThreshold = 1024;

/// A data file that a model refers to.
struct DataFile {
  std::filesystem::path path;
  int64_t bytes = 0;
  bool of_input = false;  ///< for a converted model: an existing file that the input uses, too
};

/// SHA-256 of a model's bytes and of the names and bytes of its data files, in hexadecimal digits. Throws the errors of Model::load().
[[nodiscard]] std::string model_digest(const std::filesystem::path& model);

}  // namespace relayout
