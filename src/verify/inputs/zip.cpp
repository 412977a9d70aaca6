// Reads single files of ZIP archives, checked and within limits, and refuses kinds that it does not know.
#include "verify/inputs/zip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

constexpr int64_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30, kMostComment = 65535;
constexpr uint32_t kEndMark = 0x06054B50, kCentralMark = 0x02014B50, kLocalMark = 0x04034B50;
/// Deflate expands one byte to at most 1032.
constexpr int64_t kMostExpansion = 1032;

[[noreturn]] void refuse_archive(const std::string& what) {
  fail(ErrorKind::invalid, "not a ZIP archive: " + what);
}

/// A little-endian number from bytes; the caller has checked the size.
uint64_t number(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | std::to_integer<uint64_t>(bytes[offset + i]);
  return value;
}

std::vector<std::byte> read_bytes(const File& file, int64_t offset, int64_t size) {
  if (offset < 0 || size < 0 || offset > file.size() || size > file.size() - offset) refuse_archive("it ends early");
  std::vector<std::byte> bytes(as_size(size));
  file.read(offset, bytes);
  return bytes;
}

struct Directory {
  int64_t offset = 0, size = 0, entries = 0;
};

/// Reads the last record of the archive, which locates the directory.
Directory find_directory(const File& file) {
  const int64_t tail = std::min(file.size(), kEndSize + kMostComment);
  const auto bytes = read_bytes(file, file.size() - tail, tail);
  for (int64_t at = tail - kEndSize; at >= 0; --at) {
    const auto here = as_size(at);
    if (number(bytes, here, 4) != kEndMark) continue;
    if (number(bytes, here + 4, 2) != 0) fail(ErrorKind::unsupported, "ZIP archives of several parts are not read");
    Directory directory;
    directory.entries = static_cast<int64_t>(number(bytes, here + 10, 2));
    directory.size = static_cast<int64_t>(number(bytes, here + 12, 4));
    directory.offset = static_cast<int64_t>(number(bytes, here + 16, 4));
    if (directory.offset == UINT32_MAX || directory.entries == UINT16_MAX) {
      fail(ErrorKind::unsupported, "ZIP archives of 4 GiB and more are not read");
    }
    return directory;
  }
  refuse_archive("it has no directory");
}

}  // namespace

std::vector<ZipEntry> zip_directory(const File& file) {
  const Directory directory = find_directory(file);
  const auto bytes = read_bytes(file, directory.offset, directory.size);
  std::vector<ZipEntry> entries;
  std::size_t at = 0;
  for (int64_t i = 0; i < directory.entries; ++i) {
    if (bytes.size() - at < as_size(kCentralSize) || number(bytes, at, 4) != kCentralMark) refuse_archive("its directory is damaged");
    if ((number(bytes, at + 8, 2) & 1U) != 0) fail(ErrorKind::unsupported, "encrypted ZIP archives are not read");
    ZipEntry entry;
    entry.method = static_cast<int>(number(bytes, at + 10, 2));
    entry.crc = static_cast<uint32_t>(number(bytes, at + 16, 4));
    entry.packed = static_cast<int64_t>(number(bytes, at + 20, 4));
    entry.unpacked = static_cast<int64_t>(number(bytes, at + 24, 4));
    entry.offset = static_cast<int64_t>(number(bytes, at + 42, 4));
    const std::size_t name = number(bytes, at + 28, 2), extra = number(bytes, at + 30, 2), comment = number(bytes, at + 32, 2);
    const std::size_t whole = as_size(kCentralSize) + name + extra + comment;
    if (bytes.size() - at < whole) refuse_archive("its directory is damaged");
    if (entry.unpacked == UINT32_MAX || entry.packed == UINT32_MAX || entry.offset == UINT32_MAX) {
      fail(ErrorKind::unsupported, "ZIP archives of 4 GiB and more are not read");
    }
    entry.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kCentralSize, name);
    entries.push_back(std::move(entry));
    at += whole;
  }
  return entries;
}

std::string zip_read(const File& file, const ZipEntry& entry) {
  const auto header = read_bytes(file, entry.offset, kLocalSize);
  if (number(header, 0, 4) != kLocalMark) refuse_archive("the header of " + quote(entry.name) + " is damaged");
  const auto skipped = static_cast<int64_t>(number(header, 26, 2) + number(header, 28, 2));
  auto packed = read_bytes(file, entry.offset + kLocalSize + skipped, entry.packed);
  if (entry.method != 0 && entry.method != 8)
    fail(ErrorKind::unsupported, quote(entry.name) + " is compressed by method " + std::to_string(entry.method));
  if (entry.method == 0 ? entry.unpacked != entry.packed : entry.unpacked > (entry.packed + 64) * kMostExpansion) {
    refuse_archive("the size of " + quote(entry.name) + " cannot be");
  }
  std::string out(as_size(entry.unpacked), '\0');
  if (entry.method == 0) {
    std::ranges::copy(packed, reinterpret_cast<std::byte*>(out.data()));
  } else {
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail(ErrorKind::io, "out of memory");
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!whole) refuse_archive("the contents of " + quote(entry.name) + " are damaged");
  }
  if (crc32(0, reinterpret_cast<const Bytef*>(out.data()), static_cast<uInt>(out.size())) != entry.crc) {
    refuse_archive("the checksum of " + quote(entry.name) + " does not match");
  }
  return out;
}

}  // namespace relayout
