#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/positions.h"
#include "relayout/tensor.h"

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

/// Factors for the elements of a tensor over two of its dims, by default the first two. An element of index i along `row_axis` and j along
/// `column_axis` is multiplied by at(i, j). A size of 1 broadcasts (a factor per row: rows = D0, columns = 1).
struct Scale {
  int64_t rows = 1;             ///< 1 or the size of dim `row_axis`
  int64_t columns = 1;          ///< 1 or the size of dim `column_axis`
  std::vector<double> factors;  ///< rows × columns, row-major
  std::size_t row_axis = 0;
  std::size_t column_axis = 1;
  bool is_assumed = false;  ///< assumed, not checked, to leave every channel in the range of its type, see TensorData::can_assume
  [[nodiscard]] double at(int64_t i, int64_t j) const { return factors[as_size((rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j))]; }
};

/// Thrown when factors that were assumed to leave weights in the range of their type do not. Decisions based on the assumption must be made
/// again, after checking the weights.
struct OutOfRange final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "factors lead out of the range of their type"; }
};

/// Contents of a tensor, computed on demand: stored bytes, multiplied by factors (in double, with one rounding to the element type),
/// converted to a different floating-point type, with dims permuted. Never held whole: callers read rows. Source bytes are little-endian,
/// as in raw_data.
class TensorData {
 public:
  TensorData() = default;
  /// Plain bytes. `source.size()` must be packed_byte_size(type, element_count(dims)).
  TensorData(DataType type, Dims dims, Bytes source);

  [[nodiscard]] DataType type() const noexcept { return type_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }  ///< after permutation
  [[nodiscard]] int64_t byte_size() const;
  [[nodiscard]] bool is_plain() const noexcept { return changes_ == nullptr; }
  [[nodiscard]] const Bytes& source() const noexcept { return source_; }
  [[nodiscard]] const Dims& source_dims() const noexcept { return changes_ != nullptr ? changes_->source_dims : dims_; }
  [[nodiscard]] DataType source_type() const noexcept { return changes_ != nullptr ? changes_->source_type : type_; }
  /// Scales over source_dims(); an element is multiplied by all of them. Each varies along different dims.
  [[nodiscard]] std::span<const std::shared_ptr<const Scale>> scales() const noexcept {
    return changes_ != nullptr ? std::span(changes_->scales) : std::span<const std::shared_ptr<const Scale>>();
  }
  /// The first entry of scales() after each assumed scale was applied.
  [[nodiscard]] std::span<const std::shared_ptr<const Scale>> assumed() const noexcept {
    return changes_ != nullptr ? std::span(changes_->assumed) : std::span<const std::shared_ptr<const Scale>>();
  }
  /// Empty: identity.
  [[nodiscard]] const Dims& permutation() const noexcept { return changes_ != nullptr ? changes_->permutation : kUnmoved; }

  /// These contents with every element multiplied; factors are combined with existing ones in double. The type must be a float type; the
  /// axes of `scale` are those of dims().
  [[nodiscard]] TensorData scaled(Scale scale) const;
  /// Whether `scale` may be `is_assumed`: like all existing factors, its factors are one per row of dim 0 or one for all, and rows are
  /// stored as they are read. Reading rows of scaled(scale) then checks them and throws OutOfRange.
  [[nodiscard]] bool can_assume(const Scale& scale) const;
  /// These contents with dims permuted: result dim i is dim permutation[i]. Inverse permutations cancel.
  [[nodiscard]] TensorData permuted(std::span<const int64_t> permutation) const;

  /// These contents as elements of a different floating-point type of 16 bits or more, rounded once (with the factors) to nearest even.
  /// Converted contents cannot be converted again.
  [[nodiscard]] TensorData converted(DataType type) const;

  /// Reads rows [begin, begin + count) of dim 0 (rank 0: one row), as stored in a file, into `out` of exactly that size. Types below 8 bits
  /// can only be read whole unless a row is a whole number of bytes.
  void read_rows(int64_t begin, int64_t count, std::span<std::byte> out) const;
  /// Reads one row in pieces of a few megabytes, in any order: `sink` gets the offset in the row and the bytes there. For rows too large to
  /// hold; a row whose permutation does more than exchange two groups of dims is held whole nevertheless.
  using PieceSink = std::function<void(int64_t offset, std::span<const std::byte> bytes)>;
  void read_row_in_pieces(int64_t row, const PieceSink& sink) const;
  /// All elements as a Tensor in memory (4-bit types unpacked).
  [[nodiscard]] Tensor load() const;

 private:
  /// The differences of the contents from the stored bytes. Most tensors of a model have none.
  struct Changes {
    DataType source_type = DataType::undefined;
    Dims source_dims;
    std::vector<std::shared_ptr<const Scale>> scales;
    std::vector<std::shared_ptr<const Scale>> assumed;  ///< the first entry of `scales` after each assumed scale was applied
    Dims permutation;
  };
  static inline const Dims kUnmoved;

  [[nodiscard]] Changes changes() const;
  [[nodiscard]] TensorData with(DataType type, Dims dims, Changes changes) const;

  DataType type_ = DataType::undefined;
  Dims dims_;
  Bytes source_;
  std::shared_ptr<const Changes> changes_;  ///< null: none
};

/// Copies a dense tensor with its dims permuted to a dense target: dim i of the target is dim permutation[i] of the source. Elements have
/// `element_size` bytes (1, 2, 4, 8, 16).
void permute(std::size_t element_size, const std::byte* source, std::span<const int64_t> dims, std::span<const int64_t> permutation,
             std::byte* target);

}  // namespace relayout
