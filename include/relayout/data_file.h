#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace relayout {

/// When tensors go to a data file beside the model.
enum class ExternalData : uint8_t {
  automatic,  ///< as the model came; and when a single file would exceed 2 GiB
  always,     ///< initializers from the threshold on
  never,
};
/// Bytes from which on a tensor is worth a place outside of the model file.
inline constexpr int64_t kExternalThreshold = 1024;

/// A data file that a model refers to.
struct DataFile {
  std::filesystem::path path;
  int64_t bytes = 0;
  bool of_input = false;  ///< of a converted model: was there before and belongs to the input too
};

/// SHA-256 over a model's bytes, and names and bytes of the data files that it refers to, in hexadecimal digits. Errors as Model::load.
[[nodiscard]] std::string model_digest(const std::filesystem::path& model);

}  // namespace relayout
