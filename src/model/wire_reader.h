#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "model/wire.h"

namespace relayout::wire {

struct Tag {
  uint32_t field = 0;
  WireType type = WireType::varint;
};

/// Reads protobuf's encoding from a file with a buffer of one page. Every read is limited by `end` of the enclosing message; exceeding it
/// is
/// Error{invalid} naming the offset.
class Reader {
 public:
  explicit Reader(const File& file) : file_(&file) {}

  [[nodiscard]] int64_t position() const noexcept { return position_; }
  void seek(int64_t position) noexcept { position_ = position; }
  /// Reads a tag. Field number 0 and wire types 6 and 7 are malformed.
  [[nodiscard]] Tag tag(int64_t end);
  /// Reads a varint of at most ten bytes.
  [[nodiscard]] uint64_t varint(int64_t end);
  /// Reads a length. Returns the end of the bytes that follow, which is not beyond `end`.
  [[nodiscard]] int64_t length_end(int64_t end);
  /// Skips `count` bytes, which must not extend beyond `end`.
  void skip(int64_t count, int64_t end);
  /// Appends the bytes from `begin` to the position to `out`.
  void copy_since(int64_t begin, std::string& out);
  /// Reads bytes [begin, end) and moves the position to `end`.
  [[nodiscard]] std::string bytes(int64_t begin, int64_t end);

  [[noreturn]] void malformed(int64_t offset, const std::string& what) const;

 private:
  [[nodiscard]] uint8_t byte(int64_t end);
  void fill();

  const File* file_;
  std::array<std::byte, 4096> buffer_{};
  int64_t buffer_start_ = 0, buffer_end_ = 0;  ///< range of the file in the buffer
  int64_t position_ = 0;
};

}  // namespace relayout::wire
