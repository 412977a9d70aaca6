// Writes values as arrays of NumPy while a model runs, into an archive or a folder.
#include "run/array_files.h"

#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <ios>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

using WriteBytes = std::function<void(std::string_view bytes)>;

// NumPy, "The NPY format".

/// The array of a tensor: its type in NumPy's words, and the bytes of an element.
struct ArrayType {
  std::string descr;
  std::size_t size = 0;
  bool is_unicode = false;
};

std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) return SIZE_MAX;
    text.remove_prefix(length);
    ++count;
  }
  return count;
}

/// Texts have the size of the longest: in characters of four bytes, or in bytes where one is no UTF-8.
ArrayType type_of_texts(std::span<const std::string> texts) {
  std::size_t characters = 1, bytes = 1;
  bool is_unicode = true;
  for (const std::string& text : texts) {
    const std::size_t count = characters_of(text);
    is_unicode = is_unicode && count != SIZE_MAX;
    characters = std::max(characters, count);
    bytes = std::max(bytes, text.size());
  }
  constexpr std::size_t kCharacterBytes = 4;
  if (is_unicode) return {"<U" + std::to_string(characters), characters * kCharacterBytes, true};
  return {"|S" + std::to_string(bytes), bytes, false};
}

ArrayType array_type(const Tensor& dense) {
  const DataType type = dense.type();
  if (type == DataType::string) return type_of_texts({dense.data<std::string>(), as_size(dense.element_count())});
  if (type == DataType::boolean) return {"|b1", 1};
  const DataTypeTraits& facts = traits(type);
  const std::size_t size = memory_size(type);
  if (kComplexTypes.has(type)) return {"<c" + std::to_string(size), size};
  if (facts.is_float) {
    const bool is_known = type == DataType::float16 || type == DataType::float32 || type == DataType::float64;
    return {"<f" + std::to_string(is_known ? size : sizeof(float)), is_known ? size : sizeof(float)};
  }
  return {std::string(size == 1 ? "|" : "<") + (facts.is_signed ? "i" : "u") + std::to_string(size), size};
}

/// The header, with blanks for a first dim that grows, as NumPy leaves them, in a multiple of 64 bytes.
std::string npy_header(const std::string& descr, const Dims& dims) {
  constexpr std::size_t kAlignment = 64, kGrowth = 21, kPrefix = 10;
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "" : " ") + std::to_string(dims[i]) + (i + 1 < dims.size() || i == 0 ? "," : "");
  text += "), }";
  if (!dims.empty()) text.append(kGrowth - std::to_string(dims.front()).size(), ' ');
  text.append(kAlignment - (kPrefix + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(text.size() & 0xFFU);
  out += static_cast<char>(text.size() >> 8U);
  return out + text;
}

void write_texts(std::span<const std::string> texts, const ArrayType& type, const WriteBytes& write) {
  for (std::string_view text : texts) {
    std::string out;
    while (type.is_unicode && !text.empty()) {
      const Utf8Character character = first_character(text);
      for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(character.code >> shift & 0xFFU);
      text.remove_prefix(character.length);
    }
    out.append(text);
    out.resize(type.size, '\0');
    write(out);
  }
}

void write_elements(const Tensor& dense, const ArrayType& type, const WriteBytes& write) {
  const auto count = as_size(dense.element_count());
  if (dense.type() == DataType::string) return write_texts({dense.data<std::string>(), count}, type, write);
  const std::size_t stored = memory_size(dense.type());
  if (type.size == stored) return write({reinterpret_cast<const char*>(dense.bytes()), count * stored});
  constexpr std::size_t kPart = 4096;
  std::array<float, kPart> part;
  for (std::size_t first = 0; first < count; first += kPart) {
    const std::size_t size = std::min(kPart, count - first);
    load<float>(dense.type(), dense.bytes() + first * stored, 1, static_cast<int64_t>(size), part.data());
    write({reinterpret_cast<const char*>(part.data()), size * sizeof(float)});
  }
}

/// Calls visit(name, tensor) for the tensors of a value.
void for_each_tensor(const std::string& name, const Datum& datum, const std::function<void(const std::string&, const Tensor&)>& visit) {
  if (datum.kind == Datum::Kind::tensor) {
    if (datum.tensor) visit(name, datum.tensor);
    return;
  }
  for (std::size_t i = 0; i < datum.elements.size(); ++i) {
    const bool is_map = datum.kind == Datum::Kind::map, is_optional = datum.kind == Datum::Kind::optional;
    for_each_tensor(is_optional ? name
                    : is_map    ? name + (i == 0 ? ".keys" : ".values")
                                : name + "[" + std::to_string(i) + "]",
                    datum.elements[i], visit);
  }
}

void check_written(const std::string& file, int error) {
  if (error != 0) fail_io(file, "cannot write: " + std::generic_category().message(error));
}

}  // namespace

/// Where arrays go.
class ArrayFiles::Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  /// Returns the name under which the array can be found.
  virtual std::string add(const std::string& name, const Tensor& dense, const ArrayType& type) = 0;
  virtual int64_t commit() = 0;
};

namespace {

/// Little-endian fields of a record.
class Record {
 public:
  Record& field(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFFU);
    return *this;
  }
  Record& text(std::string_view text) {
    text_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return text_; }

 private:
  std::string text_;
};

/// A ZIP archive with stored entries (PKWARE APPNOTE 6.3), its entries' headers with 64-bit sizes as NumPy asks for them.
class Archive final : public ArrayFiles::Store {
 public:
  explicit Archive(const fs::path& path) : file_(path) {}

  std::string add(const std::string& name, const Tensor& dense, const ArrayType& type) override {
    const std::string header = npy_header(type.descr, dense.dims());
    Entry entry{name + ".npy", size_, header.size() + as_size(dense.element_count()) * type.size, 0};
    Record local;
    local.field(kLocalMark, 4).field(kZip64Version, 2).field(flags_of(entry), 2).field(0, 2).field(0, 2).field(kFirstDay, 2);
    local.field(0, 4).field(kInRecord64, 4).field(kInRecord64, 4).field(entry.name.size(), 2).field(20, 2).text(entry.name);
    local.field(1, 2).field(16, 2).field(entry.bytes, 8).field(entry.bytes, 8);
    write(local.bytes());
    const auto write_counted = [&](std::string_view bytes) {
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::size_t part = std::min<std::size_t>(rest.size(), INT_MAX);
        entry.crc = crc32(entry.crc, reinterpret_cast<const Bytef*>(rest.data()), static_cast<uInt>(part));
        rest.remove_prefix(part);
      }
      write(bytes);
    };
    write_counted(header);
    write_elements(dense, type, write_counted);
    Record checksum;
    checksum.field(entry.crc, 4);
    const ssize_t patched = ::pwrite(file_.descriptor(), checksum.bytes().data(), 4, static_cast<off_t>(entry.offset + 14));
    if (patched != 4) check_written(file_.name(), patched < 0 ? errno : EIO);
    entries_.push_back(std::move(entry));
    return name;
  }

  int64_t commit() override {
    const uint64_t start = size_;
    for (const Entry& entry : entries_) write(central_record(entry));
    const uint64_t directory = size_ - start, count = entries_.size();
    Record end;
    if (count >= kMost16 || start >= kInRecord64 || directory >= kInRecord64) {
      const uint64_t at = size_;
      end.field(0x06064B50, 4).field(44, 8).field(kUnix | kZip64Version, 2).field(kZip64Version, 2).field(0, 4).field(0, 4);
      end.field(count, 8).field(count, 8).field(directory, 8).field(start, 8);
      end.field(0x07064B50, 4).field(0, 4).field(at, 8).field(1, 4);
    }
    end.field(0x06054B50, 4).field(0, 2).field(0, 2).field(std::min(count, kMost16), 2).field(std::min(count, kMost16), 2);
    end.field(std::min(directory, kInRecord64), 4).field(std::min(start, kInRecord64), 4).field(0, 2);
    write(end.bytes());
    file_.commit(false);
    return static_cast<int64_t>(size_);
  }

 private:
  struct Entry {
    std::string name;
    uint64_t offset = 0, bytes = 0;
    unsigned long crc = 0;
  };
  static constexpr uint64_t kInRecord64 = UINT32_MAX, kMost16 = UINT16_MAX, kLocalMark = 0x04034B50, kCentralMark = 0x02014B50;
  static constexpr uint64_t kZip64Version = 45, kUnix = 3U << 8U, kUtf8 = 1U << 11U;
  static constexpr uint64_t kFirstDay = 33;  ///< 1 January 1980

  static uint64_t flags_of(const Entry& entry) {
    return std::ranges::any_of(entry.name, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }) ? kUtf8 : 0;
  }

  static std::string central_record(const Entry& entry) {
    Record wide;  // what has no place in 32 bits
    const bool is_large = entry.bytes >= kInRecord64, is_far = entry.offset >= kInRecord64;
    if (is_large || is_far) wide.field(1, 2).field((is_large ? 16 : 0) + (is_far ? 8 : 0), 2);
    if (is_large) wide.field(entry.bytes, 8).field(entry.bytes, 8);
    if (is_far) wide.field(entry.offset, 8);
    constexpr uint64_t kMode = uint64_t{0600} << 16U;
    Record out;
    out.field(kCentralMark, 4).field(kUnix | kZip64Version, 2).field(kZip64Version, 2).field(flags_of(entry), 2).field(0, 2).field(0, 2);
    out.field(kFirstDay, 2).field(entry.crc, 4).field(std::min(entry.bytes, kInRecord64), 4).field(std::min(entry.bytes, kInRecord64), 4);
    out.field(entry.name.size(), 2).field(wide.bytes().size(), 2).field(0, 2).field(0, 2).field(0, 2).field(kMode, 4);
    out.field(std::min(entry.offset, kInRecord64), 4).text(entry.name).text(wide.bytes());
    return out.bytes();
  }

  void write(std::string_view bytes) {
    check_written(file_.name(), write_all(file_.descriptor(), bytes));
    size_ += bytes.size();
  }

  AtomicFile file_;
  uint64_t size_ = 0;
  std::vector<Entry> entries_;
};

/// A folder with a file per array, numbered in the order of the run.
class Folder final : public ArrayFiles::Store {
 public:
  explicit Folder(const fs::path& path) : name_(path.string()), draft_(path) {}

  std::string add(const std::string& name, const Tensor& dense, const ArrayType& type) override {
    std::string file = std::to_string(++count_);
    constexpr std::size_t kDigits = 5, kMostName = 150;
    file.insert(0, kDigits - std::min(kDigits, file.size()), '0');
    file += '-';
    for (const char c : name.substr(0, kMostName)) {
      const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '#';
      if (is_plain || file.back() != '_') file += is_plain ? c : '_';
    }
    file += ".npy";
    std::ofstream out(draft_.path() / file, std::ios::binary);
    const auto write = [&](std::string_view bytes) {
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      size_ += static_cast<int64_t>(bytes.size());
    };
    write(npy_header(type.descr, dense.dims()));
    write_elements(dense, type, write);
    out.close();
    if (!out) check_written((fs::path(name_) / file).string(), errno == 0 ? EIO : errno);
    index_ += file + "\t" + escape(name) + "\t" + std::string(name_of(dense.type())) + "\t" + to_string(dense.dims()) + "\n";
    return file;
  }

  int64_t commit() override {
    write_text_file(draft_.path() / "index.tsv", "file\ttensor\ttype\tdims\n" + index_);
    draft_.publish();
    return size_;
  }

 private:
  std::string name_, index_;
  DraftFolder draft_;
  int64_t count_ = 0, size_ = 0;
};

std::unique_ptr<ArrayFiles::Store> open_store(const fs::path& path) {
  if (path.extension() == ".npz") return std::make_unique<Archive>(path);
  std::error_code ignored;
  if (fs::exists(path, ignored))
    fail(ErrorKind::usage, escape(path.string()) + " is there already", "a name that ends in .npz is one file");
  return std::make_unique<Folder>(path.has_filename() ? path : path.parent_path());
}

}  // namespace

ArrayFiles::ArrayFiles(const fs::path& path) : store_(open_store(path)) {}
ArrayFiles::~ArrayFiles() = default;

std::vector<std::string> ArrayFiles::add(const std::string& name, const Datum& datum) {
  std::vector<std::string> out;
  for_each_tensor(name, datum, [&](const std::string& part, const Tensor& tensor) {
    const Tensor dense = contiguous(tensor);
    out.push_back(store_->add(part, dense, array_type(dense)));
  });
  return out;
}

int64_t ArrayFiles::commit() {
  return store_->commit();
}

}  // namespace relayout
