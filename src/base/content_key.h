#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace relayout {

/// A digest of texts and files, in order, that says where each ends: the key under which a result that depends on them alone is kept.
class ContentKey {
 public:
  void add(std::string_view text);
  /// The bytes of a file. Errors as File::open.
  void add_file(const std::filesystem::path& path);
  /// The key, in hexadecimal digits; the object is used up.
  [[nodiscard]] std::string finish();

 private:
  Sha256 digest_;
};

}  // namespace relayout
