#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/positions.h"
#include "model/bytes.h"
#include "relayout/tensor.h"

namespace relayout {

/// Factors for the elements of a tensor, given over two of its dims, the first two unless said otherwise: an element of index i along
/// `row_axis` and j along `column_axis` is multiplied by at(i, j). Either may be of size 1 and is then the same for all (a factor per
/// row: rows = D0, columns = 1).
struct Scale {
  int64_t rows = 1;             ///< 1 or the size of dim `row_axis`
  int64_t columns = 1;          ///< 1 or the size of dim `column_axis`
  std::vector<double> factors;  ///< rows × columns, row-major
  std::size_t row_axis = 0;
  std::size_t column_axis = 1;
  bool is_assumed = false;  ///< to leave every channel in the range of its type: nobody has looked yet, see TensorData::can_assume
  [[nodiscard]] double at(int64_t i, int64_t j) const { return factors[as_size((rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j))]; }
};

/// Factors that were assumed to leave weights in the range of their type do not. What was decided so has to be decided again, by who looks
/// at the weights first.
struct OutOfRange final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "factors lead out of the range of their type"; }
};

/// The contents of a tensor that a pass has decided on but that are not computed yet: stored bytes, times factors (in double,
/// one rounding to the element type), as elements of another floating-point type, dims permuted. Never held whole: readers ask for rows.
/// Source bytes are little-endian, as in raw_data.
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
  /// Over source_dims(); an element is multiplied by all of them. Each varies along other dims.
  [[nodiscard]] std::span<const std::shared_ptr<const Scale>> scales() const noexcept {
    return changes_ != nullptr ? std::span(changes_->scales) : std::span<const std::shared_ptr<const Scale>>();
  }
  /// Of those, what scales() began with each time a scale was assumed.
  [[nodiscard]] std::span<const std::shared_ptr<const Scale>> assumed() const noexcept {
    return changes_ != nullptr ? std::span(changes_->assumed) : std::span<const std::shared_ptr<const Scale>>();
  }
  /// Empty: identity.
  [[nodiscard]] const Dims& permutation() const noexcept { return changes_ != nullptr ? changes_->permutation : kUnmoved; }

  /// The same with every element multiplied; factors compose in double with those already there. The type must be a float type and
  /// `scale` speaks of dims().
  [[nodiscard]] TensorData scaled(Scale scale) const;
  /// Whether `scale` may be `is_assumed`: its factors are one for each row of dim 0, or one for all, like those already there, and rows lie
  /// in the source as they are read. Reading rows of scaled(scale) then looks at them and throws OutOfRange.
  [[nodiscard]] bool can_assume(const Scale& scale) const;
  /// The same with dims permuted: result dim i is dim permutation[i]. Inverse permutations cancel.
  [[nodiscard]] TensorData permuted(std::span<const int64_t> permutation) const;

  /// The same as elements of another floating-point type of 16 bits or more, rounded once (with the factors) to nearest even. What was
  /// converted before cannot be converted again.
  [[nodiscard]] TensorData converted(DataType type) const;

  /// Rows [begin, begin + count) of dim 0 (rank 0: one row) as a file stores them, into `out` of exactly that size.
  /// Types below 8 bits can be read only whole unless a row is a whole number of bytes.
  void read_rows(int64_t begin, int64_t count, std::span<std::byte> out) const;
  /// One row in pieces of a few megabytes, in any order: `sink` gets the place in the row and the bytes there. For rows too large to hold;
  /// one whose permutation is not an exchange of two groups of dims is held whole all the same.
  using PieceSink = std::function<void(int64_t offset, std::span<const std::byte> bytes)>;
  void read_row_in_pieces(int64_t row, const PieceSink& sink) const;
  /// Everything, in memory form (4-bit types unpacked).
  [[nodiscard]] Tensor load() const;

 private:
  /// The differences of the contents from the stored bytes. Most tensors of a model have none.
  struct Changes {
    DataType source_type = DataType::undefined;
    Dims source_dims;
    std::vector<std::shared_ptr<const Scale>> scales;
    std::vector<std::shared_ptr<const Scale>> assumed;  ///< what `scales` began with each time a scale was assumed
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

}  // namespace relayout
