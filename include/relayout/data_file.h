#pragma once

#include <cstdint>
#include <filesystem>

namespace relayout {

/// A data file that a model refers to.
struct DataFile {
  std::filesystem::path path;
  int64_t bytes = 0;
  bool of_input = false;  ///< of a converted model: was there before and belongs to the input too
};

}  // namespace relayout
