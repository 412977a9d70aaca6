#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/positions.h"

namespace relayout {

/// A growing buffer of uninitialized bytes, which loses its contents when it grows.
class ByteBuffer {
 public:
  explicit ByteBuffer(int64_t size = 0) { (void)room(size); }

  /// Room for `size` bytes. Growing the buffer discards its contents.
  std::span<std::byte> room(int64_t size) {
    if (size > size_) {
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(as_size(size));
      size_ = size;
    }
    return first(size);
  }
  /// The first `size` bytes of the buffer.
  [[nodiscard]] std::span<std::byte> first(int64_t size) const { return {bytes_.get(), as_size(size)}; }
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  int64_t size_ = 0;
};

}  // namespace relayout
