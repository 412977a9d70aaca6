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
  [[nodiscard]] std::shared_ptr<const File> file() const noexcept;
  [[nodiscard]] int64_t file_offset() const noexcept { return std::max<int64_t>(offset_, 0); }
  /// The owned or held bytes; empty when they lie in a file.
  [[nodiscard]] std::span<const std::byte> memory() const noexcept;

 private:
  [[nodiscard]] static Bytes copied(std::span<const std::byte> data);
  Bytes(std::shared_ptr<const void> source, std::size_t length) : source_(std::move(source)), length_(static_cast<int64_t>(length)) {}

  // By size, for large models have a million of them.
  static constexpr int64_t kInMemory = -1;
  std::shared_ptr<const void> source_;  ///< the file, or the first byte in memory
  int64_t offset_ = kInMemory;          ///< in the file
  int64_t length_ = 0;
};

}  // namespace relayout
