#include <gtest/gtest.h>

#include "base/random.h"
#include "exec/kernels/integer_kernel.h"

namespace relayout::exec {
namespace {

/// Tests every instruction set of this machine against sums in 64 bits, over sizes around tiles, groups and panels. Extreme bytes would
/// expose saturation.
TEST(IntegerProduct, EveryInstructionSetIsExact) {
  uint64_t seed = 0;
  for (auto isa = IntegerIsa::generic; isa <= best_integer_isa(); isa = static_cast<IntegerIsa>(static_cast<int>(isa) + 1)) {
    for (const int64_t rows : {1, 2, 5, 6, 7, 16, 17, 37}) {
      for (const int64_t depth : {1, 3, 4, 9, 63, 64, 65, 130}) {
        for (const int64_t columns : {1, 7, 16, 17, 33, 64, 65, 130}) {
          const RandomStream random(++seed, "integer product");
          const bool is_unsigned = seed % 2 == 0, by_columns = seed % 3 == 0;
          std::vector<uint8_t> a(static_cast<std::size_t>(rows * padded_depth(depth)), 0xAB);
          std::vector<uint8_t> b(static_cast<std::size_t>(depth * columns));
          const auto byte = [&](uint64_t i) {
            return static_cast<uint8_t>(random.below(2 * i, 4) == 0 ? 0xFF * random.below(2 * i + 1, 2) : random.below(2 * i + 1, 256));
          };
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t k = 0; k < depth; ++k)
              a[static_cast<std::size_t>(r * padded_depth(depth) + k)] = byte(static_cast<uint64_t>(r * depth + k));
          }
          for (std::size_t i = 0; i < b.size(); ++i) b[i] = byte(i + 100000);
          const int64_t depth_stride = by_columns ? 1 : columns, column_stride = by_columns ? depth : 1;
          std::vector<std::byte> packed(static_cast<std::size_t>(panel_count(columns) * panel_bytes(depth)));
          pack_panels({reinterpret_cast<const std::byte*>(b.data()), depth, columns, depth_stride, column_stride, is_unsigned},
                      packed.data());
          std::vector<int32_t> c(static_cast<std::size_t>(rows * IntegerPanel::kColumns));
          for (int64_t panel = 0; panel < panel_count(columns); ++panel) {
            const std::byte* const data = packed.data() + panel * panel_bytes(depth);
            const int64_t first = panel * IntegerPanel::kColumns, count = std::min(IntegerPanel::kColumns, columns - first);
            multiply_panel(isa, rows, depth, a.data(), data, count, c.data());
            for (int64_t n = 0; n < count; ++n) {
              int64_t column_sum = 0;
              const auto right = [&](int64_t k) {
                const uint8_t value = b[static_cast<std::size_t>(k * depth_stride + (first + n) * column_stride)];
                return is_unsigned ? int64_t{value} - 128 : int64_t{static_cast<int8_t>(value)};
              };
              for (int64_t k = 0; k < depth; ++k) column_sum += right(k);
              ASSERT_EQ(panel_sums(data, depth)[n], column_sum);
              for (int64_t r = 0; r < rows; ++r) {
                int64_t sum = 0;
                for (int64_t k = 0; k < depth; ++k) sum += int64_t{a[static_cast<std::size_t>(r * padded_depth(depth) + k)]} * right(k);
                ASSERT_EQ(c[static_cast<std::size_t>(r * IntegerPanel::kColumns + n)], sum)
                    << std::string(isa_name(isa)) << " " << rows << "x" << depth << "x" << columns << " at " << r << "," << first + n;
              }
            }
          }
        }
      }
    }
  }
}

/// Sums beyond 2^31 wrap.
TEST(IntegerProduct, LongSumsWrap) {
  constexpr int64_t kDepth = 70000;
  std::vector<uint8_t> a(kDepth, 255), b(kDepth, 128);  // −128 as signed
  std::vector<std::byte> packed(static_cast<std::size_t>(panel_bytes(kDepth)));
  pack_panels({reinterpret_cast<const std::byte*>(b.data()), kDepth, 1, 1, 1, false}, packed.data());
  std::vector<int32_t> c(IntegerPanel::kColumns);
  for (auto isa = IntegerIsa::generic; isa <= best_integer_isa(); isa = static_cast<IntegerIsa>(static_cast<int>(isa) + 1)) {
    multiply_panel(isa, 1, kDepth, a.data(), packed.data(), 1, c.data());
    EXPECT_EQ(c[0], static_cast<int32_t>(static_cast<uint32_t>(uint64_t{0} - uint64_t{255} * 128 * kDepth))) << isa_name(isa);
  }
}

}  // namespace
}  // namespace relayout::exec
