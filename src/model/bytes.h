#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace relayout {

/// The place of payload bytes: a range of a file, owned, or held by something larger. Copies share. Never a mapping: reading is pread.
class Bytes {
 public:
  Bytes() = default;  ///< no bytes
  [[nodiscard]] static Bytes of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length);
  [[nodiscard]] static Bytes owned(std::string_view bytes);
  [[nodiscard]] static Bytes owned(std::vector<std::byte> bytes);
  /// Bytes that stay where they are as long as somebody has `holder`.
  [[nodiscard]] static Bytes held(const std::shared_ptr<const void>& holder, std::string_view bytes);

  /// Part of these bytes; shares them.
  [[nodiscard]] Bytes part(int64_t offset, int64_t length) const;

  [[nodiscard]] int64_t size() const noexcept { return length_; }
  /// Reads out.size() bytes from `offset` of this range on.
  void read(int64_t offset, std::span<std::byte> out) const;
  /// Null when owned or held.
  [[nodiscard]] const std::shared_ptr<const File>& file() const noexcept { return file_; }
  [[nodiscard]] int64_t file_offset() const noexcept { return offset_; }
  /// The owned or held bytes; empty when they lie in a file.
  [[nodiscard]] std::span<const std::byte> memory() const noexcept;

 private:
  std::shared_ptr<const File> file_;
  std::shared_ptr<const std::byte> memory_;  ///< the first byte
  int64_t offset_ = 0;                       ///< in the file
  int64_t length_ = 0;
};

}  // namespace relayout
