// Payload bytes in memory, or as a range of a file that is read on demand, and their parts; few bytes (up to 256) are copied.
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
Bytes Bytes::of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length) {
  if (offset < 0 || length < 0 || length > file->size() || offset > file->size() - length) {
    fail(ErrorKind::defect, "a range of bytes beyond the end of its file");
  }
  Bytes bytes;
  bytes.source_ = std::move(file);
  bytes.offset_ = offset;
  bytes.length_ = length;
  return bytes;
}

Bytes Bytes::owned(std::string_view text) {
  return copied(std::as_bytes(std::span(text)));
}

Bytes Bytes::owned(std::vector<std::byte> data) {
  constexpr std::size_t kFew = 256;  // bytes up to which data is copied: one block less for each of many small tensors
  if (data.size() <= kFew) return copied(data);
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  return {std::shared_ptr<const void>(owner, owner->data()), owner->size()};
}

Bytes Bytes::held(const std::shared_ptr<const void>& holder, std::string_view held) {
  return {std::shared_ptr<const void>(holder, held.data()), held.size()};
}

Bytes Bytes::copied(std::span<const std::byte> data) {
  const auto block = std::make_shared_for_overwrite<std::byte[]>(data.size());  // one block for bytes and reference count
  std::ranges::copy(data, block.get());
  return {std::shared_ptr<const void>(block, block.get()), data.size()};
}

std::shared_ptr<const File> Bytes::file() const noexcept {
  return offset_ == kInMemory ? nullptr : std::static_pointer_cast<const File>(source_);
}

Bytes Bytes::part(int64_t offset, int64_t length) const {
  if (offset < 0 || length < 0 || length > size() || offset > size() - length)
    fail(ErrorKind::defect, "a part beyond the end of its bytes");
  Bytes bytes = *this;
  if (offset_ != kInMemory) {
    bytes.offset_ += offset;
  } else if (source_) {
    bytes.source_ = {source_, static_cast<const std::byte*>(source_.get()) + offset};
  }
  bytes.length_ = length;
  return bytes;
}

void Bytes::read(int64_t offset, std::span<std::byte> out) const {
  const auto length = static_cast<int64_t>(out.size());
  if (offset < 0 || length > size() || offset > size() - length) fail(ErrorKind::defect, "a read beyond the end of its bytes");
  if (out.empty()) return;
  if (offset_ == kInMemory) {
    std::memcpy(out.data(), static_cast<const std::byte*>(source_.get()) + offset, out.size());
  } else {
    static_cast<const File*>(source_.get())->read(offset_ + offset, out);
  }
}

std::span<const std::byte> Bytes::memory() const noexcept {
  if (offset_ != kInMemory || !source_) return {};
  return {static_cast<const std::byte*>(source_.get()), as_size(length_)};
}

}  // namespace relayout
