#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "relayout/data_file.h"
#include "relayout/model.h"

namespace relayout {

/// The end of a converted model's name, before its extension: net.cl.onnx.
inline constexpr std::string_view kConvertedSuffix = ".cl";

/// Options for writing a model.
struct SaveOptions {
  FileFormat format = FileFormat::automatic;
  ExternalData external_data = ExternalData::automatic;
  int64_t external_threshold = kExternalThreshold;  ///< size in bytes from which a weight is stored in the data file
  bool share_data = false;                          ///< keep references to the input's data files for unchanged tensors, where possible
  bool in_place = false;                            ///< allow the output to be the input
  bool sync = false;                                ///< flush new files, too, to the device
  int threads = 2;                                  ///< convert() sets its own
  /// Called with the numbers of bytes written so far and in total.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

}  // namespace relayout
