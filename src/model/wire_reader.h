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

/// Reads protobuf's encoding from a file through a buffer of one page. Everything is bounded by `end` of the enclosing message;
/// what does not fit is Error{invalid} naming the offset.
class Reader {
 public:
  explicit Reader(const File& file) : file_(&file) {}

  [[nodiscard]] int64_t position() const noexcept { return position_; }
  void seek(int64_t position) noexcept { position_ = position; }
  /// Field number 0 and wire types 6 and 7 are malformed.
  [[nodiscard]] Tag tag(int64_t end);
  /// At most ten bytes.
  [[nodiscard]] uint64_t varint(int64_t end);
  /// A length; the position then is at the bytes it speaks of. Returns where those end, not beyond `end`.
  [[nodiscard]] int64_t length_end(int64_t end);
  /// Moves on by `count` bytes, which must lie before `end`.
  void skip(int64_t count, int64_t end);
  /// Appends the bytes from `begin` to the position to `out`.
  void copy_since(int64_t begin, std::string& out);
  /// Bytes [begin, end); the position then is behind them.
  [[nodiscard]] std::string bytes(int64_t begin, int64_t end);

  [[noreturn]] void malformed(int64_t offset, const std::string& what) const;

 private:
  [[nodiscard]] uint8_t byte(int64_t end);
  void fill();

  const File* file_;
  std::array<std::byte, 4096> buffer_{};
  int64_t buffer_start_ = 0, buffer_end_ = 0;  ///< of the file's bytes that the buffer holds
  int64_t position_ = 0;
};

}  // namespace relayout::wire
