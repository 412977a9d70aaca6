// Copies tensors with permuted dims in tiles and blocks that fit the cache.
#include <array>
#include <cstring>

#include "base/positions.h"
#include "base/vectorize.h"
#include "model/tensor_data.h"
#include "relayout/types.h"

namespace relayout {
namespace {

struct Wide {
  uint64_t low, high;
};

/// Size of one dim, and its strides in source and target, in elements.
struct Axis {
  int64_t size, source_step, target_step;
};

/// A permutation in source order, without dims of size 1, and with dims that stay adjacent merged.
struct Plan {
  Dims dims;
  Dims permutation;
};

Plan simplify(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  Dims kept;  // target order, source numbers
  for (const int64_t from : permutation) {
    if (dims[as_size(from)] != 1) kept.push_back(from);
  }
  Dims sorted = kept;
  std::ranges::sort(sorted);
  const auto rank_of = [&](int64_t axis) { return std::ranges::lower_bound(sorted, axis) - sorted.begin(); };
  // leads[s]: source dim s (counted among kept dims) does not follow its source neighbour in the target.
  std::vector<char> leads(sorted.size(), 1);
  for (std::size_t i = 1; i < kept.size(); ++i) {
    if (rank_of(kept[i]) == rank_of(kept[i - 1]) + 1) leads[as_size(rank_of(kept[i]))] = 0;
  }
  Plan plan;
  Dims group(sorted.size());
  for (std::size_t s = 0; s < sorted.size(); ++s) {
    const int64_t size = dims[as_size(sorted[s])];
    if (leads[s] != 0) {
      plan.dims.push_back(size);
    } else {
      plan.dims.back() *= size;
    }
    group[s] = static_cast<int64_t>(plan.dims.size()) - 1;
  }
  for (const int64_t axis : kept) {
    const auto s = as_size(rank_of(axis));
    if (leads[s] != 0) plan.permutation.push_back(group[s]);
  }
  return plan;
}

constexpr int64_t kTile = 4;

/// transpose() of kTile rows and columns; in registers for elements of four bytes.
template <class T>
void transpose_tile(const T* source, int64_t source_step, T* target, int64_t target_step) {
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    using Row = uint32_t __attribute__((vector_size(sizeof(uint32_t) * kTile)));
    std::array<Row, kTile> in, out;
    for (std::size_t i = 0; i < in.size(); ++i) std::memcpy(&in[i], source + static_cast<int64_t>(i) * source_step, sizeof(Row));
    const Row low_01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5), high_01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    const Row low_23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5), high_23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    out[0] = __builtin_shufflevector(low_01, low_23, 0, 1, 4, 5);
    out[1] = __builtin_shufflevector(low_01, low_23, 2, 3, 6, 7);
    out[2] = __builtin_shufflevector(high_01, high_23, 0, 1, 4, 5);
    out[3] = __builtin_shufflevector(high_01, high_23, 2, 3, 6, 7);
    for (std::size_t k = 0; k < out.size(); ++k) std::memcpy(target + static_cast<int64_t>(k) * target_step, &out[k], sizeof(Row));
  } else {
    for (int64_t k = 0; k < kTile; ++k) {
      for (int64_t i = 0; i < kTile; ++i) target[k * target_step + i] = source[i * source_step + k];
    }
  }
}

/// A range of rows or columns of a matrix: [begin, end).
struct Range {
  int64_t begin, end;
  [[nodiscard]] int64_t whole_tiles() const { return begin + (end - begin) / kTile * kTile; }
};

/// A block of transpose() whose streams do not collide, in tiles, with either rows or columns in the outer loop.
template <class T>
void transpose_block(const T* source, Range rows, int64_t source_step, T* target, Range columns, int64_t target_step, bool rows_outside) {
  const auto tile = [&](int64_t i, int64_t k) {
    transpose_tile(source + i * source_step + k, source_step, target + k * target_step + i, target_step);
  };
  const int64_t row_end = rows.whole_tiles(), column_end = columns.whole_tiles();
  if (rows_outside) {
    for (int64_t i = rows.begin; i < row_end; i += kTile) {
      for (int64_t k = columns.begin; k < column_end; k += kTile) tile(i, k);
    }
  } else {
    for (int64_t k = columns.begin; k < column_end; k += kTile) {
      for (int64_t i = rows.begin; i < row_end; i += kTile) tile(i, k);
    }
  }
  for (int64_t k = column_end; k < columns.end; ++k) {
    for (int64_t i = rows.begin; i < row_end; ++i) target[k * target_step + i] = source[i * source_step + k];
  }
  for (int64_t i = row_end; i < rows.end; ++i) {
    for (int64_t k = columns.begin; k < columns.end; ++k) target[k * target_step + i] = source[i * source_step + k];
  }
}

/// target[k · target_step + i] = source[i · source_step + k] for i < rows, k < columns.
/// Streams at a distance of a multiple of a page share cache sets and evict each other (7 × slower). The loop with the harmless distance
/// therefore gets the larger number of streams.
template <class T>
void transpose(const T* source, int64_t rows, int64_t source_step, T* target, int64_t columns, int64_t target_step) {
  constexpr int64_t kPage = 4096;
  const bool reads_collide = source_step * static_cast<int64_t>(sizeof(T)) % kPage == 0;
  const bool writes_collide = target_step * static_cast<int64_t>(sizeof(T)) % kPage == 0;
  const bool rows_outside = rows < 16 || reads_collide;
  const int64_t row_block = reads_collide && writes_collide ? 16 : rows_outside ? rows : 64;
  const int64_t column_block = reads_collide && writes_collide ? 16 : rows_outside ? 64 : columns;
  for (int64_t row = 0; row < rows; row += row_block) {
    const int64_t row_end = std::min(rows, row + row_block);
    for (int64_t column = 0; column < columns; column += column_block) {
      const int64_t column_end = std::min(columns, column + column_block);
      transpose_block(source, {row, row_end}, source_step, target, {column, column_end}, target_step, rows_outside);
    }
  }
}

/// Calls body(source offset, target offset) for every position of `axes`, the last axis varying fastest.
template <class Body>
void for_each_position(std::span<const Axis> axes, const Body& body) {
  Dims index(axes.size(), 0);
  int64_t source = 0, target = 0;
  while (true) {
    body(source, target);
    std::size_t at = axes.size();
    while (at-- > 0) {
      source += axes[at].source_step;
      target += axes[at].target_step;
      if (++index[at] < axes[at].size) break;
      source -= axes[at].size * axes[at].source_step;
      target -= axes[at].size * axes[at].target_step;
      index[at] = 0;
    }
    if (at == static_cast<std::size_t>(-1)) return;
  }
}

template <class T>
void permute_elements(const T* source, const Plan& plan, T* target) {
  const Dims source_steps = contiguous_strides(plan.dims);
  Dims target_dims;
  target_dims.reserve(plan.permutation.size());
  for (const int64_t from : plan.permutation) target_dims.push_back(plan.dims[as_size(from)]);
  const Dims target_steps = contiguous_strides(target_dims);
  std::vector<Axis> axes;  // in target order
  for (std::size_t i = 0; i < target_dims.size(); ++i) {
    axes.push_back({target_dims[i], source_steps[as_size(plan.permutation[i])], target_steps[i]});
  }
  const Axis last = axes.back();
  axes.pop_back();
  if (last.source_step == 1) {
    for_each_position(axes, [&](int64_t from, int64_t to) { std::memcpy(target + to, source + from, as_size(last.size) * sizeof(T)); });
    return;
  }
  const auto dense = std::ranges::find(axes, 1, &Axis::source_step);
  const Axis columns = *dense;
  axes.erase(dense);
  for_each_position(axes, [&](int64_t from, int64_t to) {
    transpose(source + from, last.size, last.source_step, target + to, columns.size, columns.target_step);
  });
}

}  // namespace

void permute(std::size_t element_size, const std::byte* source, std::span<const int64_t> dims, std::span<const int64_t> permutation,
             std::byte* target) {
  const int64_t count = element_count(dims);
  if (count == 0) return;
  const Plan plan = simplify(dims, permutation);
  if (plan.dims.size() <= 1) {
    std::memcpy(target, source, as_size(count) * element_size);
    return;
  }
  const auto run = [&]<class T>(T) {
    permute_elements(reinterpret_cast<const Unaligned<T>*>(source), plan, reinterpret_cast<Unaligned<T>*>(target));
  };
  switch (element_size) {
    case 1:
      run(uint8_t{});
      break;
    case 2:
      run(uint16_t{});
      break;
    case 4:
      run(uint32_t{});
      break;
    case 8:
      run(uint64_t{});
      break;
    default:
      run(Wide{});
      break;
  }
}

}  // namespace relayout
