// Payload bytes in memory, or as a range of a file that is read when needed.
#include "model/bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/positions.h"
#include "relayout/error.h"

namespace relayout {
namespace {

/// A copy in one block with the count of its holders.
std::shared_ptr<const std::byte> copied(std::span<const std::byte> data) {
  const auto block = std::make_shared_for_overwrite<std::byte[]>(data.size());
  std::ranges::copy(data, block.get());
  return {block, block.get()};
}

}  // namespace

Bytes Bytes::of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length) {
  if (offset < 0 || length < 0 || length > file->size() || offset > file->size() - length) {
    fail(ErrorKind::defect, "a range of bytes beyond the end of its file");
  }
  Bytes bytes;
  bytes.file_ = std::move(file);
  bytes.offset_ = offset;
  bytes.length_ = length;
  return bytes;
}

Bytes Bytes::owned(std::string_view text) {
  Bytes bytes;
  bytes.length_ = static_cast<int64_t>(text.size());
  bytes.memory_ = copied(std::as_bytes(std::span(text)));
  return bytes;
}

Bytes Bytes::owned(std::vector<std::byte> data) {
  constexpr std::size_t kFew = 256;  // are copied: a block less for each of many small tensors
  Bytes bytes;
  bytes.length_ = static_cast<int64_t>(data.size());
  if (data.size() <= kFew) {
    bytes.memory_ = copied(data);
    return bytes;
  }
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  bytes.memory_ = {owner, owner->data()};
  return bytes;
}

Bytes Bytes::held(const std::shared_ptr<const void>& holder, std::string_view held) {
  Bytes bytes;
  bytes.length_ = static_cast<int64_t>(held.size());
  bytes.memory_ = {holder, reinterpret_cast<const std::byte*>(held.data())};
  return bytes;
}

Bytes Bytes::part(int64_t offset, int64_t length) const {
  if (offset < 0 || length < 0 || length > length_ || offset > length_ - length)
    fail(ErrorKind::defect, "a part beyond the end of its bytes");
  Bytes bytes = *this;
  if (bytes.memory_) bytes.memory_ = {memory_, memory_.get() + offset};
  bytes.offset_ += offset;
  bytes.length_ = length;
  return bytes;
}

void Bytes::read(int64_t offset, std::span<std::byte> out) const {
  const auto length = static_cast<int64_t>(out.size());
  if (offset < 0 || length > length_ || offset > length_ - length) fail(ErrorKind::defect, "a read beyond the end of its bytes");
  if (out.empty()) return;
  if (file_) {
    file_->read(offset_ + offset, out);
  } else {
    std::memcpy(out.data(), memory_.get() + offset, out.size());
  }
}

std::span<const std::byte> Bytes::memory() const noexcept {
  return {memory_.get(), memory_ ? as_size(length_) : 0};
}

}  // namespace relayout
