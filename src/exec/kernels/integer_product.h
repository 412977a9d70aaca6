#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relayout::exec {

/// The product of 8-bit matrices that all kernels share: sums in 32 bits, which wrap and never saturate. Rows of the left matrix are
/// unsigned, the right matrix is signed: callers shift values of the other kind, and their zero points, by 128.
struct IntegerPanel {
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kGroup = 4;  ///< rows of the right matrix that are stored together; its depth is padded with zeros to a multiple
};

/// `depth` padded to whole groups.
[[nodiscard]] constexpr int64_t padded_depth(int64_t depth) {
  return (depth + IntegerPanel::kGroup - 1) / IntegerPanel::kGroup * IntegerPanel::kGroup;
}
/// Bytes of one panel: groups of 64 columns by 4 rows, then the sums of the 64 columns as int32.
[[nodiscard]] constexpr int64_t panel_bytes(int64_t depth) {
  return IntegerPanel::kColumns * (padded_depth(depth) + int64_t{sizeof(int32_t)});
}
[[nodiscard]] constexpr int64_t panel_count(int64_t columns) {
  return (columns + IntegerPanel::kColumns - 1) / IntegerPanel::kColumns;
}
[[nodiscard]] inline const int32_t* panel_sums(const std::byte* panel, int64_t depth) {
  return reinterpret_cast<const int32_t*>(panel + IntegerPanel::kColumns * padded_depth(depth));
}

/// A matrix [depth × columns] of bytes, strides in bytes.
struct ByteMatrix {
  const std::byte* data = nullptr;
  int64_t depth = 0, columns = 0, depth_stride = 0, column_stride = 0;
  bool is_unsigned = false;  ///< values are packed less 128
};

/// Writes panel_count(columns) panels.
void pack_panels(const ByteMatrix& matrix, std::byte* packed);

/// Instruction sets for which the product is implemented, slowest first.
enum class IntegerIsa : uint8_t { generic, avx2, avx512_vnni, amx };
/// The best one that this machine has; those before it in the list run here too. Requests the system's permission to use AMX.
[[nodiscard]] IntegerIsa best_integer_isa();
[[nodiscard]] std::string_view to_string(IntegerIsa isa);

/// c[r][n] = Σ_k a[r][k] · b[k][n] for the first `columns` of a panel (and some beyond them). Rows of `a` are padded_depth(depth) long and
/// adjacent, rows of c 64 elements apart.
void multiply_panel(IntegerIsa isa, int64_t rows, int64_t depth, const uint8_t* a, const std::byte* panel, int64_t columns, int32_t* c);

}  // namespace relayout::exec
