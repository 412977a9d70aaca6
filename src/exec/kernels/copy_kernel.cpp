// Copies and transposes tensors of any strides.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

struct Wide {
  uint64_t parts[2];
};

/// Rows up to this long are copied in an inline loop: a call for each would take longer than the copy.
constexpr int64_t kShortRow = 16;

/// Copies a row of `length` elements, dense in source and destination.
template <class T>
void copy_row(const T* source, T* destination, int64_t length) {
  if (length >= 16) {
    std::memcpy(destination, source, as_size(length) * sizeof(T));
  } else {
    for (int64_t i = 0; i < length; ++i) destination[i] = source[i];
  }
}

/// destination[i · kColumns + j] = source[j · source_stride + i] over i < rows and few j: image planes to pixels.
template <class T, int kColumns>
void interleave(const T* source, int64_t source_stride, T* destination, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int j = 0; j < kColumns; ++j) destination[i * kColumns + j] = source[j * source_stride + i];
  }
}

/// destination[i · row_stride + j] = source[j · kRows + i] over few i and j < columns: pixels to image planes.
template <class T, int kRows>
void separate(const T* source, T* destination, int64_t row_stride, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) destination[i * row_stride + j] = source[j * kRows + i];
  }
}

/// Repeats each of `count` elements `times` times: destination[i · times + j] = source[i · step].
template <class T>
void repeat_each(const T* source, int64_t step, T* destination, int64_t count, int64_t times) {
  const auto run = [&](auto distance, auto repeats) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < repeats; ++j) destination[i * repeats + j] = source[i * distance];
    }
  };
  constexpr std::integral_constant<int64_t, 1> kOne;
  if (step != 1) return run(step, times);
  switch (times) {
    case 2:
      return run(kOne, std::integral_constant<int64_t, 2>{});
    case 3:
      return run(kOne, std::integral_constant<int64_t, 3>{});
    case 4:
      return run(kOne, std::integral_constant<int64_t, 4>{});
    default:
      return run(kOne, times);
  }
}

#if defined(__GNUC__) && !defined(__clang__)

/// A square of rows of 16 bytes, of as many rows as a row has elements. It is transposed by repeatedly interleaving rows that are half the
/// square apart.
template <class T>
struct Square {
  static constexpr int64_t kSize = 16 / sizeof(T);
  typedef T Row [[gnu::vector_size(16)]];
  typedef std::make_signed_t<T> Places [[gnu::vector_size(16)]];

  template <bool kUpper>
  [[gnu::always_inline]] static Row interleaved(Row a, Row b) {
    Places places;
    for (int64_t i = 0; i < kSize; ++i) {
      places[i] = static_cast<std::make_signed_t<T>>(i / 2 + (kUpper ? kSize / 2 : 0) + (i % 2 != 0 ? kSize : 0));
    }
    return __builtin_shuffle(a, b, places);
  }

  [[gnu::always_inline]] static void transpose(const T* source, int64_t column_stride, T* destination, int64_t row_stride) {
    Row rows[kSize], mixed[kSize];
    for (int64_t j = 0; j < kSize; ++j) std::memcpy(&rows[j], source + j * column_stride, sizeof(Row));
    for (int64_t done = 1; done < kSize; done *= 2) {
      for (int64_t j = 0; j < kSize / 2; ++j) {
        mixed[2 * j] = interleaved<false>(rows[j], rows[j + kSize / 2]);
        mixed[2 * j + 1] = interleaved<true>(rows[j], rows[j + kSize / 2]);
      }
      std::copy_n(mixed, kSize, rows);
    }
    for (int64_t i = 0; i < kSize; ++i) std::memcpy(destination + i * row_stride, &rows[i], sizeof(Row));
  }
};

#else

template <class T>
struct Square {
  static constexpr int64_t kSize = 4;
  static void transpose(const T* source, int64_t column_stride, T* destination, int64_t row_stride) {
    for (int64_t i = 0; i < kSize; ++i) {
      for (int64_t j = 0; j < kSize; ++j) destination[i * row_stride + j] = source[j * column_stride + i];
    }
  }
};

#endif

/// destination[i · row_stride + j] = source[j · column_stride + i], in tiles that stay in the first cache.
template <class T>
void transpose(const T* source, int64_t column_stride, T* destination, int64_t row_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16;
  if (row_stride == columns) {
    switch (columns) {
      case 2:
        return interleave<T, 2>(source, column_stride, destination, rows);
      case 3:
        return interleave<T, 3>(source, column_stride, destination, rows);
      case 4:
        return interleave<T, 4>(source, column_stride, destination, rows);
      default:
        break;
    }
  }
  if (column_stride == rows) {
    switch (rows) {
      case 2:
        return separate<T, 2>(source, destination, row_stride, columns);
      case 3:
        return separate<T, 3>(source, destination, row_stride, columns);
      case 4:
        return separate<T, 4>(source, destination, row_stride, columns);
      default:
        break;
    }
  }
  for (int64_t i0 = 0; i0 < rows; i0 += kTile) {
    const int64_t i1 = std::min(rows, i0 + kTile);
    for (int64_t j0 = 0; j0 < columns; j0 += kTile) {
      const int64_t j1 = std::min(columns, j0 + kTile);
      if constexpr (sizeof(T) <= 4) {
        if (i1 - i0 == kTile && j1 - j0 == kTile) {
          constexpr int64_t kSize = Square<T>::kSize;
          for (int64_t i = i0; i < i1; i += kSize) {
            for (int64_t j = j0; j < j1; j += kSize) {
              Square<T>::transpose(source + j * column_stride + i, column_stride, destination + i * row_stride + j, row_stride);
            }
          }
          continue;
        }
      }
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) destination[i * row_stride + j] = source[j * column_stride + i];
      }
    }
  }
}

class CopyKernel : public Kernel {
 public:
  CopyKernel(const TensorDesc& source, const TensorDesc& destination, Team team)
      : loops_(simplify(source.dims, {source.strides, destination.strides}, 1)),
        element_(memory_size(source.type)),
        team_(team),
        empty_(relayout::element_count(source.dims) == 0) {
    const std::size_t last = loops_.dims.size() - 1;
    if (repeats()) {
      repeats_ = true;
    } else if (loops_.strides[0][last] != 1 && loops_.strides[1][last] == 1) {
      move_source_run_inside();
    }
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) {
      source_ = data;
    } else {
      destination_ = data;
    }
  }
  [[nodiscard]] std::string implementation() const override { return "copy"; }

  void run() override {
    if (empty_) return;
    switch (element_) {
      case 1:
        return run_as<uint8_t>();
      case 2:
        return run_as<uint16_t>();
      case 4:
        return run_as<uint32_t>();
      case 8:
        return run_as<uint64_t>();
      default:
        return run_as<Wide>();
    }
  }

 private:
  /// Whether the source repeats along a dim and the destination has no gaps.
  [[nodiscard]] bool repeats() const {
    if (std::ranges::find(loops_.strides[0], 0) == loops_.strides[0].end() || loops_.strides[1].back() != 1) return false;
    for (std::size_t i = 0; i + 1 < loops_.dims.size(); ++i) {
      if (loops_.strides[1][i] != loops_.strides[1][i + 1] * loops_.dims[i + 1]) return false;
    }
    return true;
  }

  /// Makes the dim along which the source is dense the second innermost: the two innermost dims are then a matrix to transpose.
  void move_source_run_inside() {
    const std::size_t last = loops_.dims.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      if (loops_.strides[0][i] != 1) continue;
      const auto rotate = [&](Dims& dims) {
        std::rotate(dims.begin() + static_cast<std::ptrdiff_t>(i), dims.begin() + static_cast<std::ptrdiff_t>(i) + 1, dims.end() - 1);
      };
      rotate(loops_.dims);
      rotate(loops_.strides[0]);
      rotate(loops_.strides[1]);
      matrix_ = true;
      return;
    }
  }

  /// Copies the elements along dims [level, …); where the source repeats, from elements already written.
  template <class T>
  void spread(std::size_t level, const T* from, T* to) const {
    const int64_t size = loops_.dims[level], step = loops_.strides[0][level], block = loops_.strides[1][level];
    const std::size_t inner = level + 1;
    if (inner == loops_.dims.size()) return copy_line(from, to, size);
    if (step == 0) {
      spread(inner, from, to);
      for (int64_t done = 1; done < size; done *= 2) copy_row(to, to + done * block, std::min(done, size - done) * block);
    } else if (inner + 1 == loops_.dims.size() && loops_.strides[0][inner] == 0) {
      repeat_each(from, step, to, size, loops_.dims[inner]);
    } else if (inner + 1 == loops_.dims.size() && loops_.dims[inner] <= kShortRow) {
      copy_short_rows(from, to, size);
    } else {
      for (int64_t i = 0; i < size; ++i) spread(inner, from + i * step, to + i * block);
    }
  }

  template <class T>
  void spread_all() const {
    const T* const source = reinterpret_cast<const T*>(source_);
    T* const destination = reinterpret_cast<T*>(destination_);
    const int64_t block = loops_.strides[1][0], step = loops_.strides[0][0];
    if (step == 0 || loops_.dims.size() == 1) return spread(0, source, destination);
    team_.divide(loops_.dims[0], kElementsPerPart / block + 1, [&](int64_t begin, int64_t end) {
      if (loops_.dims.size() == 2 && loops_.strides[0][1] == 0)
        return repeat_each(source + begin * step, step, destination + begin * block, end - begin, block);
      for (int64_t i = begin; i < end; ++i) spread(1, source + i * step, destination + i * block);
    });
  }

  template <class T>
  void run_as() {
    if (repeats_) return spread_all<T>();
    const std::size_t last = loops_.dims.size() - 1;
    if (matrix_ && outer_count(loops_, last - 1) == 1) return transpose_rows<T>();
    const bool has_short_rows = !matrix_ && last >= 1 && loops_.dims[last] <= kShortRow;
    const std::size_t levels = matrix_ || has_short_rows ? last - 1 : last;
    const int64_t outer = outer_count(loops_, levels);
    const int64_t inner = outer_count(loops_, loops_.dims.size()) / outer;
    if (levels == 0 && !matrix_ && !has_short_rows) return copy_run<T>();
    if (outer == 1 && has_short_rows) return copy_short_rows<T>();
    const T* const source = reinterpret_cast<const T*>(source_);
    T* const destination = reinterpret_cast<T*>(destination_);
    team_.divide(outer, kElementsPerPart / inner + 1, [&](int64_t begin, int64_t end) {
      for_each_outer(loops_, levels, begin, end, [&](std::span<const int64_t> offsets) {
        const T* const from = source + offsets[0];
        T* const to = destination + offsets[1];
        if (matrix_) {
          transpose(from, loops_.strides[0][last], to, loops_.strides[1][last - 1], loops_.dims[last - 1], loops_.dims[last]);
        } else if (has_short_rows) {
          copy_short_rows(from, to, loops_.dims[last - 1]);
        } else {
          copy_line(from, to, loops_.dims[last]);
        }
      });
    });
  }

  /// All rows, divided among the threads.
  template <class T>
  void copy_short_rows() {
    const std::size_t last = loops_.dims.size() - 1;
    team_.divide(loops_.dims[last - 1], kElementsPerPart / loops_.dims[last] + 1, [&](int64_t begin, int64_t end) {
      copy_short_rows(reinterpret_cast<const T*>(source_) + begin * loops_.strides[0][last - 1],
                      reinterpret_cast<T*>(destination_) + begin * loops_.strides[1][last - 1], end - begin);
    });
  }

  /// Rows of the innermost dim, one after the other; each small length has its own loop.
  template <class T>
  void copy_short_rows(const T* from, T* to, int64_t rows) const {
    const std::size_t last = loops_.dims.size() - 1;
    const int64_t from_row = loops_.strides[0][last - 1], to_row = loops_.strides[1][last - 1], length = loops_.dims[last];
    const int64_t from_step = loops_.strides[0][last], to_step = loops_.strides[1][last];
    const auto run = [&](auto count, auto source_step, auto step) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < count; ++i) to[row * to_row + i * step] = from[row * from_row + i * source_step];
      }
    };
    constexpr std::integral_constant<int64_t, 1> kOne;
    if (from_step != 1 || to_step != 1) return run(length, from_step, to_step);
    switch (length) {
      case 1:
        return run(kOne, kOne, kOne);
      case 2:
        return run(std::integral_constant<int64_t, 2>{}, kOne, kOne);
      case 3:
        return run(std::integral_constant<int64_t, 3>{}, kOne, kOne);
      case 4:
        return run(std::integral_constant<int64_t, 4>{}, kOne, kOne);
      default:
        return run(length, kOne, kOne);
    }
  }

  /// One matrix: its rows are divided among the threads.
  template <class T>
  void transpose_rows() {
    const std::size_t last = loops_.dims.size() - 1;
    const T* const source = reinterpret_cast<const T*>(source_);
    T* const destination = reinterpret_cast<T*>(destination_);
    const int64_t row_stride = loops_.strides[1][last - 1];
    team_.divide(loops_.dims[last - 1], kElementsPerPart / loops_.dims[last] + 1, [&](int64_t begin, int64_t end) {
      transpose(source + begin, loops_.strides[0][last], destination + begin * row_stride, row_stride, end - begin, loops_.dims[last]);
    });
  }

  template <class T>
  void copy_run() {
    const T* const source = reinterpret_cast<const T*>(source_);
    T* const destination = reinterpret_cast<T*>(destination_);
    team_.divide(loops_.dims[0], 65536, [&](int64_t begin, int64_t end) {
      copy_line(source + begin * loops_.strides[0][0], destination + begin * loops_.strides[1][0], end - begin);
    });
  }

  template <class T>
  void copy_line(const T* from, T* to, int64_t length) const {
    const int64_t source_step = loops_.strides[0].back();
    const int64_t step = loops_.strides[1].back();
    if (source_step == 1 && step == 1) return copy_row(from, to, length);
    if (source_step == 0 && step == 1) {
      std::fill_n(to, length, *from);
      return;
    }
    for (int64_t i = 0; i < length; ++i) to[i * step] = from[i * source_step];
  }

  Loops loops_;
  std::size_t element_;
  Team team_;
  bool matrix_ = false, repeats_ = false, empty_ = false;
  const std::byte* source_ = nullptr;
  std::byte* destination_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_copy_kernel(const TensorDesc& source, const TensorDesc& destination, Team team) {
  return std::make_unique<CopyKernel>(source, destination, team);
}

}  // namespace relayout::exec
