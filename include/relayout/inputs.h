#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/types.h"

namespace relayout {

/// Conversion of image files to inputs.
struct ImageOptions {
  std::optional<std::array<int64_t, 2>> resize;  ///< height, width, for image inputs whose size the model leaves open
  std::vector<double> mean, deviation;           ///< of values in [0, 1], one for all channels or one per channel; empty: 0 and 1
};

/// The inputs of a run: sizes for free dims and contents for inputs. Other inputs are generated from the seed.
struct InputOptions {
  uint64_t seed = 1;
  std::map<std::string, int64_t> dims;                  ///< sizes of named dimensions: --dim N=2
  std::map<std::string, Dims> shapes;                   ///< dims of inputs: --shape x=1,3,224,224
  std::map<std::string, std::filesystem::path> inputs;  ///< contents of inputs: --input NAME=FILE, a folder of files, or numbers: 0.5
  ImageOptions images;
};

}  // namespace relayout
