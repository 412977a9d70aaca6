#pragma once

#include <cstdint>
#include <functional>

#include "relayout/data_file.h"
#include "relayout/model.h"

namespace relayout {

/// How a model is written.
struct SaveOptions {
  FileFormat format = FileFormat::automatic;
  ExternalData external_data = ExternalData::automatic;
  int64_t external_threshold = kExternalThreshold;  ///< bytes from which on a weight goes into the data file
  bool share_data = false;  ///< unchanged tensors stay in the data files of the input where those can be referred to
  bool in_place = false;    ///< the output may be the input
  bool sync = false;        ///< flush a new file too
  int threads = 2;          ///< convert() sets its own
  /// Bytes written so far and in all.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

}  // namespace relayout
