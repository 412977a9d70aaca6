#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace relayout {

/// The text of a file from its beginning to its end, piece by piece. Gzip files are decompressed.
class TextSource {
 public:
  explicit TextSource(std::shared_ptr<File> file);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  /// The next piece; empty at the end. It is valid until the next call. Error{invalid} if compressed data is damaged, Error{unsupported}
  /// beyond 64 GiB of text.
  [[nodiscard]] std::string_view next();

 private:
  struct Inflater;
  [[nodiscard]] std::string_view next_raw();
  std::shared_ptr<File> file_;
  int64_t offset_ = 0, total_ = 0;
  std::string raw_, text_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace relayout
