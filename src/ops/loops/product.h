#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/positions.h"
#include "base/threads.h"

namespace relayout {

/// Blocks of the matrix product that convolutions and matmul share: a panel of B (kDepth × kColumns) stays in the second-level cache while
/// up to kRows rows of A are multiplied with it.
struct ProductBlock {
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kDepth = 256;
  static constexpr int64_t kRows = 512;
};

/// c[m][n] += Σ_k a[m][k] · b[k][n] for `rows` × kColumns, `depth` ≤ kDepth; rows of a are `a_stride` apart, those of b and c kColumns.
/// Terms are added one by one in the order of k. Integers wrap.
void multiply_panel(int64_t rows, int64_t depth, const double* a, int64_t a_stride, const double* b, double* c);
void multiply_panel(int64_t rows, int64_t depth, const uint64_t* a, int64_t a_stride, const uint64_t* b, uint64_t* c);
void multiply_panel(int64_t rows, int64_t depth, const uint32_t* a, int64_t a_stride, const uint32_t* b, uint32_t* c);

/// One block of rows and columns; independent blocks may run in parallel. `Accumulator` is double, uint64_t or uint32_t. Functions:
///   const Accumulator* load_rows(row, rows, k, depth, buffer, stride&)
///       rows [row, row + rows) × [k, k + depth) of A: written into buffer with the given stride, or an address and stride of
///       its own
///   void load_panel(k, depth, column, columns, panel)    B into panel[k][kColumns]
///   void store_row(row, column, columns, values)         one row of the result
template <class Accumulator, class LoadRows, class LoadPanel, class StoreRow>
void multiply_block(int64_t row, int64_t rows, int64_t depth, int64_t column, int64_t columns, const LoadRows& load_rows,
                    const LoadPanel& load_panel, const StoreRow& store_row) {
  using Block = ProductBlock;
  constexpr int64_t kRowsAtOnce = 32;
  std::vector<Accumulator> c(as_size(rows * Block::kColumns), Accumulator{});
  std::vector<Accumulator> panel(as_size(std::min(depth, Block::kDepth) * Block::kColumns), Accumulator{});
  std::vector<Accumulator> buffer(as_size(std::min(rows, kRowsAtOnce) * std::min(depth, Block::kDepth)));
  for (int64_t k = 0; k < depth; k += Block::kDepth) {
    const int64_t here = std::min(Block::kDepth, depth - k);
    load_panel(k, here, column, columns, panel.data());
    for (int64_t begin = 0; begin < rows; begin += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows - begin);
      int64_t stride = here;
      const Accumulator* a = load_rows(row + begin, count, k, here, buffer.data(), stride);
      multiply_panel(count, here, a, stride, panel.data(), c.data() + begin * Block::kColumns);
    }
  }
  for (int64_t i = 0; i < rows; ++i) store_row(row + i, column, columns, c.data() + i * Block::kColumns);
}

/// Computes all blocks of a rows × columns product.
template <class Accumulator, class LoadRows, class LoadPanel, class StoreRow>
void multiply_all(int threads, int64_t rows, int64_t depth, int64_t columns, const LoadRows& load_rows, const LoadPanel& load_panel,
                  const StoreRow& store_row) {
  using Block = ProductBlock;
  const int64_t row_blocks = (rows + Block::kRows - 1) / Block::kRows;
  const int64_t column_blocks = (columns + Block::kColumns - 1) / Block::kColumns;
  parallel_for(row_blocks * column_blocks, threads, [&](int64_t task) {
    const int64_t row = task % row_blocks * Block::kRows;
    const int64_t column = task / row_blocks * Block::kColumns;
    multiply_block<Accumulator>(row, std::min(Block::kRows, rows - row), depth, column, std::min(Block::kColumns, columns - column),
                                load_rows, load_panel, store_row);
  });
}

/// Threads that pay off for this number of multiply-adds.
[[nodiscard]] inline int threads_for(double multiply_adds, int threads) {
  constexpr double kWorthwhile = 1 << 20;
  return static_cast<int>(std::clamp(multiply_adds / kWorthwhile, 1.0, static_cast<double>(std::max(threads, 1))));
}

}  // namespace relayout
