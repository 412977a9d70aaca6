#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace relayout {

/// Where payload bytes are: a range of a file, or owned. Copies share. Never a mapping: reading is pread.
class Bytes {
 public:
  Bytes() = default;  ///< no bytes
  [[nodiscard]] static Bytes of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length);
  [[nodiscard]] static Bytes owned(std::string bytes);
  [[nodiscard]] static Bytes owned(std::vector<std::byte> bytes);

  /// Part of these bytes; shares them.
  [[nodiscard]] Bytes part(int64_t offset, int64_t length) const;

  [[nodiscard]] int64_t size() const noexcept { return length_; }
  /// Reads out.size() bytes from `offset` of this range on.
  void read(int64_t offset, std::span<std::byte> out) const;
  /// Null when owned.
  [[nodiscard]] const std::shared_ptr<const File>& file() const noexcept { return file_; }
  [[nodiscard]] int64_t file_offset() const noexcept { return offset_; }
  /// The owned bytes; empty when they lie in a file.
  [[nodiscard]] std::span<const std::byte> memory() const noexcept;

 private:
  std::shared_ptr<const File> file_;
  std::shared_ptr<const std::vector<std::byte>> memory_;
  int64_t offset_ = 0;
  int64_t length_ = 0;
};

}  // namespace relayout
