#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace relayout {

/// The cache key of a result that depends only on texts and files: a digest of these in order, with their boundaries.
class ContentKey {
 public:
  void add(std::string_view text);
  /// Adds the bytes of a file. Errors of File::open() and File::read().
  void add_file(const std::filesystem::path& path);
  /// The key in hexadecimal digits; the object must not be used afterwards.
  [[nodiscard]] std::string finish();

 private:
  Sha256 digest_;
};

}  // namespace relayout
