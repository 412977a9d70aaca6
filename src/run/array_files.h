#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "relayout/datum.h"

namespace relayout {

/// NumPy arrays in an archive (.npz), as numpy.savez() writes them, or each in a file of a new folder, with their names in index.tsv.
/// Nothing appears before commit(). NumPy has no 16-bit floats but f16, none of 8 or 4 bits and no integers of 4 or 2 bits: these are
/// stored as f32 and as 8-bit integers, which hold the same numbers. Elements of sequences are arrays of their own: x[0], x[1]; of maps
/// x.keys, x.values.
class ArrayFiles {
 public:
  /// Error{usage} for a folder that is there already, Error{io}.
  explicit ArrayFiles(const std::filesystem::path& path);
  ~ArrayFiles();
  ArrayFiles(const ArrayFiles&) = delete;
  ArrayFiles& operator=(const ArrayFiles&) = delete;

  /// Writes a value at once and keeps nothing of it. Returns the names of its arrays in the archive, or of its files.
  std::vector<std::string> add(const std::string& name, const Datum& datum);
  /// Gives the file or folder its name. Returns its bytes.
  int64_t commit();

  class Store;

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace relayout
