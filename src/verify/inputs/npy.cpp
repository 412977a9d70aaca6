// Parses NumPy's format of one array, and the ZIP archives that hold many.

#include <zlib.h>

#include <climits>
#include <cstring>
#include <initializer_list>

#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/kernels/regex.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/data_file.h"

namespace relayout {

// Single files of ZIP archives, checked and within limits.
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

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;

/// Fields of the header. NumPy, "The NPY format".
struct Header {
  std::string descr;
  bool fortran_order = false;
  Dims dims;
  std::size_t data = 0;  ///< offset of the first element
};

[[noreturn]] void refuse_array(const std::string& what) {
  fail(ErrorKind::invalid, "not a NumPy array file: " + what);
}

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
        order = true;
      } else if (key == "shape") {
        header.dims = tuple();
        shape = true;
      } else {
        refuse_array("its header has an unknown key " + quote(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) refuse_array("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse_array("its header lacks '" + std::string(1, c) + "' at " + std::to_string(at_));
  }
  std::string quoted() {
    skip_blanks();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = mark == '\'' || mark == '"' ? text_.find(mark, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse_array("structured or malformed element types are not read");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool truth() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    refuse_array("fortran_order is neither True nor False");
  }
  Dims tuple() {
    Dims dims;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      int64_t dim = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() >= kMaxRank) refuse_array("its shape is not a tuple of sizes");
      at_ = as_size(end - text_.data());
      dims.push_back(dim);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Header parse_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 10) refuse_array("it does not begin with \\x93NUMPY");
  const auto version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) refuse_array("unknown version of the format");
  const std::size_t width = version == 1 ? 2 : 4;
  if (text.size() < 8 + width) refuse_array("it ends in its header");
  const std::size_t length = number(bytes, 8, width), start = 8 + width;
  if (length > text.size() - start) refuse_array("it ends in its header");
  Header header = HeaderParser(text.substr(start, length)).parse();
  header.data = start + length;
  return header;
}

struct ElementType {
  DataType type = DataType::undefined;
  std::size_t size = 0;  ///< bytes of one element in the file
  std::size_t swap = 1;  ///< bytes of each group to reverse; 1: none
};

std::optional<ElementType> numeric_type(char kind, std::size_t size) {
  const auto entry = [&](std::initializer_list<std::pair<std::size_t, DataType>> sizes) -> std::optional<ElementType> {
    for (const auto& [bytes, type] : sizes) {
      if (bytes == size) return ElementType{type, size, kind == 'c' ? size / 2 : size};
    }
    return std::nullopt;
  };
  switch (kind) {
    case 'b':
      return entry({{1, DataType::boolean}});
    case 'i':
      return entry({{1, DataType::int8}, {2, DataType::int16}, {4, DataType::int32}, {8, DataType::int64}});
    case 'u':
      return entry({{1, DataType::uint8}, {2, DataType::uint16}, {4, DataType::uint32}, {8, DataType::uint64}});
    case 'f':
      return entry({{2, DataType::float16}, {4, DataType::float32}, {8, DataType::float64}});
    case 'c':
      return entry({{8, DataType::complex64}, {16, DataType::complex128}});
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse_type(const std::string& descr) {
  fail(ErrorKind::unsupported, "NumPy element type " + quote(descr) + " is not read");
}

ElementType parse_descr(const std::string& descr) {
  if (descr.size() < 3) refuse_type(descr);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  if (error != std::errc() || end != descr.data() + descr.size()) refuse_type(descr);
  const char order = descr[0], kind = descr[1];
  if (order != '<' && order != '>' && order != '|' && order != '=') refuse_type(descr);
  if (kind == 'S' || kind == 'U') {
    const auto bytes = checked_mul<std::size_t>(size, kind == 'U' ? 4 : 1);
    if (!bytes) refuse_type(descr);
    return {DataType::string, *bytes, kind == 'U' && order == '>' ? std::size_t{4} : std::size_t{1}};
  }
  auto type = numeric_type(kind, size);
  if (!type) refuse_type(descr);
  if (order != '>') type->swap = 1;
  return *type;
}

/// Whether UTF-8 can encode the code point (RFC 3629): surrogates alone, which Python's texts may hold, are none.
bool is_character(uint32_t point) {
  return point < 0xD800 || (point >= 0xE000 && point <= 0x10FFFF);
}

/// One fixed-size text; padding NULs at its end are not part of it.
std::string parse_text(std::span<const std::byte> bytes, bool is_unicode, bool swapped) {
  if (!is_unicode) {
    std::string out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    out.erase(out.find_last_not_of('\0') + 1);
    return out;
  }
  std::size_t count = bytes.size() / 4;
  const auto point = [&](std::size_t i) {
    uint32_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) value = value << 8U | std::to_integer<uint32_t>(bytes[4 * i + (swapped ? k : 3 - k)]);
    return value;
  };
  while (count > 0 && point(count - 1) == 0) --count;
  std::u32string points;
  for (std::size_t i = 0; i < count; ++i) {
    points += static_cast<char32_t>(point(i));
    if (!is_character(point(i))) refuse_array("a text has the code point " + std::to_string(point(i)) + ", which is no character");
  }
  return encode_utf8(points);
}

/// Elements of row-major `dims`; the caller reverses Fortran order.
Tensor read_elements(std::span<const std::byte> data, const ElementType& element, bool is_unicode, Dims dims) {
  Tensor tensor(element.type, std::move(dims));
  const auto count = as_size(tensor.element_count());
  if (element.type == DataType::string) {
    for (std::size_t i = 0; i < count; ++i) {
      tensor.data<std::string>()[i] = parse_text(data.subspan(i * element.size, element.size), is_unicode, element.swap == 4);
    }
    return tensor;
  }
  if (count > 0) std::memcpy(tensor.bytes(), data.data(), count * element.size);
  if (element.swap > 1) {
    for (std::byte* at = tensor.bytes(); at != tensor.bytes() + count * element.size; at += element.swap)
      std::reverse(at, at + element.swap);
  }
  return tensor;
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes) {
  Header header = parse_header(bytes);
  const ElementType element = parse_descr(header.descr);
  if (header.fortran_order) std::ranges::reverse(header.dims);
  const int64_t count = element_count(header.dims);
  const auto size = checked_mul<std::size_t>(as_size(count), element.size);
  const std::span<const std::byte> data = bytes.subspan(header.data);
  if (!size || *size > data.size()) {
    fail(ErrorKind::invalid, std::to_string(count) + " elements of " + std::to_string(element.size) + " bytes in a file with " +
                                 std::to_string(data.size()) + " bytes of data");
  }
  // A file could claim any number of elements of no bytes.
  if (element.size == 0 && count > 0) fail(ErrorKind::invalid, "elements of no size");
  const bool is_unicode = header.descr.size() > 1 && header.descr[1] == 'U';
  Tensor tensor = read_elements(data, element, is_unicode, header.dims);
  if (!header.fortran_order) return tensor;
  Dims reversed(header.dims.size());
  for (std::size_t i = 0; i < reversed.size(); ++i) reversed[i] = static_cast<int64_t>(reversed.size() - 1 - i);
  return contiguous(tensor.transposed(reversed));
}

}  // namespace relayout
