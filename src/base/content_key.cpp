// Keys of cached results (`--cache`): one SHA-256 of all texts and files that a result depends on, with their boundaries.
#include "base/content_key.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/sha256.h"

namespace relayout {

void ContentKey::add(std::string_view text) {
  const std::string size = std::to_string(text.size()) + ":";
  digest_.update(std::as_bytes(std::span(size)));
  digest_.update(std::as_bytes(std::span(text)));
}

void ContentKey::add_file(const std::filesystem::path& path) {
  add(sha256_of(*File::open(path)));
}

std::string ContentKey::finish() {
  return to_hex(digest_.finish());
}

}  // namespace relayout
