#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace relayout {

/// A file in a ZIP archive (PKWARE APPNOTE 6.3) such as .npz.
struct ZipEntry {
  std::string name;
  int64_t offset = 0;                ///< of its local header
  int64_t packed = 0, unpacked = 0;  ///< bytes
  int method = 0;                    ///< 0 stored, 8 deflated
  uint32_t crc = 0;
};

/// The archive's directory. Error{invalid} for other files; Error{unsupported} for several disks, 4 GiB or more, and encrypted files.
[[nodiscard]] std::vector<ZipEntry> zip_directory(const File& file);
/// The contents of a file, checked against their checksum.
[[nodiscard]] std::string zip_read(const File& file, const ZipEntry& entry);

}  // namespace relayout
