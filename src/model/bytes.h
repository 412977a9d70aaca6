#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace relayout {

/// Payload bytes: a range of a file, owned memory, or part of a larger object. Copies share the bytes. Files are read by pread, never
/// mapped.
class Bytes {
 public:
  Bytes() = default;  ///< no bytes
  [[nodiscard]] static Bytes of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length);
  [[nodiscard]] static Bytes owned(std::string_view bytes);
  [[nodiscard]] static Bytes owned(std::vector<std::byte> bytes);
  /// Bytes in memory that `holder` keeps alive.
  [[nodiscard]] static Bytes held(const std::shared_ptr<const void>& holder, std::string_view bytes);

  /// Part of these bytes; shares them.
  [[nodiscard]] Bytes part(int64_t offset, int64_t length) const;

  [[nodiscard]] int64_t size() const noexcept { return length_; }
  /// Reads out.size() bytes, starting at `offset` in this range.
  void read(int64_t offset, std::span<std::byte> out) const;
  /// The file; null for bytes in memory.
  [[nodiscard]] std::shared_ptr<const File> file() const noexcept;
  [[nodiscard]] int64_t file_offset() const noexcept { return std::max<int64_t>(offset_, 0); }
  /// The bytes in memory; empty for a range of a file.
  [[nodiscard]] std::span<const std::byte> memory() const noexcept;

 private:
  [[nodiscard]] static Bytes copied(std::span<const std::byte> data);
  Bytes(std::shared_ptr<const void> source, std::size_t length) : source_(std::move(source)), length_(static_cast<int64_t>(length)) {}

  // Ordered by size, as large models have a million of these.
  static constexpr int64_t kInMemory = -1;
  std::shared_ptr<const void> source_;  ///< the file, or the first byte in memory
  int64_t offset_ = kInMemory;          ///< in the file
  int64_t length_ = 0;
};

}  // namespace relayout
