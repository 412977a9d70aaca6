#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "relayout/data_file.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

;

struct SaveResult {
  int64_t bytes = 0;                       ///< of the model and all data files that it refers to
  std::vector<DataFile> data = {};         ///< these files
  std::vector<DataFile> left_behind = {};  ///< in_place: data files that the model no longer refers to
};

/// Writes the model: whole or not at all. "-" is standard output. What no pass touched is copied from its original bytes; an untouched
/// model is its file, byte for byte. Where tensors live outside:
/// - automatic: those that were external stay so, all in a new file `OUTPUT.data`, so that the result needs no file of the input. Where
///   nothing at all changed, the data files are copied under their names to another folder, and stay as they are in place. With
///   share_data, in the same folder, only changed tensors go to the new file.
/// - always: all initializers from the threshold on; never: none. The limit of one file is 2 GiB.
/// A data file of the input is never overwritten. Errors: usage (output is the input, or a data file of it), unsupported (too large),
/// io (also when a file of the input changed since it was loaded).
SaveResult save(const Model& model, const std::filesystem::path& path, const SaveOptions& options = {});
/// The bytes that save would write (tests, printing); external data is inlined.
[[nodiscard]] std::string to_bytes(const Model& model);

}  // namespace relayout
