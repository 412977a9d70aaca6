#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "relayout/data_file.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

struct SaveResult {
  int64_t bytes = 0;                       ///< Model::file_size() of the saved model
  std::vector<DataFile> data = {};         ///< data files of the saved model
  std::vector<DataFile> left_behind = {};  ///< in_place: data files that the model no longer refers to
};

/// Writes the model completely or not at all. "-" is standard output. Unchanged parts are copied from their original bytes; an unchanged
/// model is copied byte for byte. Tensors stored outside of the model file:
/// - automatic: external tensors stay external, all in a new file `OUTPUT.data`, so that the result needs no file of the input. If nothing
///   changed, the data files are copied under their names to a different folder, and left as they are in place. With share_data, in the
///   same folder, only changed tensors are written to the new file.
/// - always: all initializers of at least the threshold's size; never: none. The limit of one file is 2 GiB.
/// A data file of the input is never overwritten. Errors: usage (output is the input, or a data file of it), unsupported (too large),
/// io (also when a file of the input changed since it was loaded).
SaveResult save(const Model& model, const std::filesystem::path& path, const SaveOptions& options = {});
/// The bytes that save() would write, with external data inlined (for tests and printing).
[[nodiscard]] std::string to_bytes(const Model& model);

}  // namespace relayout
