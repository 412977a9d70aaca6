#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "relayout/types.h"

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
/// Bytes of one panel: groups of 64 columns by 4 rows, then the sums of the 64 columns as int32, then what the best instructions need
/// besides.
[[nodiscard]] int64_t panel_bytes(int64_t depth);
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
[[nodiscard]] std::string_view isa_name(IntegerIsa isa);

/// c[r][n] = Σ_k a[r][k] · b[k][n] for the first `columns` of a panel (and some beyond them). Rows of `a` are padded_depth(depth) long and
/// adjacent, rows of c 64 elements apart.
void multiply_panel(IntegerIsa isa, int64_t rows, int64_t depth, const uint8_t* a, const std::byte* panel, int64_t columns, int32_t* c);

/// Operands of the integer kernels after source and weights, in this order; the destination comes last. All dense.
struct IntegerParameters {
  bool source_zero = false;   ///< one zero point
  int64_t weights_zeros = 0;  ///< none, one, or one per column
  /// Results are saturate(round half to even(sum · factor) + destination zero point) with factor = source scale · weights scale /
  /// destination scale: four operands, weights scales one or one per column. Otherwise results are the sums, as int32.
  bool requantizes = false;
  int64_t weights_scales = 0;
  bool bias = false;  ///< int32, one per column
  DataType source_type = DataType::uint8, weights_type = DataType::int8, destination_type = DataType::int32;
};

/// Shift of values that a panel or a row holds with the other signedness.
inline constexpr int32_t kShift = 128;

[[nodiscard]] int32_t byte_at(const std::byte* data, DataType type, int64_t index);

/// The range of round(sum · factor) in which adding the zero point stays in the type.
struct QuantizedRange {
  float low = 0, high = 0;
  int32_t zero = 0;
};

/// Addresses of the parameters' operands; null where the node has none.
struct ParameterOperands {
  std::byte *source_zero = nullptr, *weights_zeros = nullptr, *source_scale = nullptr, *weights_scales = nullptr;
  std::byte *destination_scale = nullptr, *destination_zero = nullptr, *bias = nullptr;
};

/// Sums of rows, kColumns apart, and what is added to them, modulo 2^32: offsets[n] − zeros[n] · row_sums[r].
struct SumBlock {
  const int32_t* sums = nullptr;
  int64_t rows = 0, columns = 0;
};
struct SumTerms {
  const uint32_t *offsets = nullptr, *zeros = nullptr;  ///< by column
  const uint32_t* row_sums = nullptr;                   ///< null: no zeros
};

/// Common part of all integer kernels: operands of the parameters, and conversion of sums.
class IntegerKernel : public Kernel {
 public:
  IntegerKernel(const IntegerParameters& parameters, int64_t columns, Team team);

  void bind(std::size_t operand, std::byte* data) override { *slots_[operand] = data; }
  [[nodiscard]] std::string implementation() const override { return "own:" + std::string(isa_name(isa_)); }
  void bind_scratchpad(std::byte* data) override { scratch_ = data; }

 protected:
  /// Reads the parameters of this run.
  void prepare();

  [[nodiscard]] int64_t element_bytes() const { return parameters_.requantizes ? 1 : int64_t{sizeof(int32_t)}; }

  /// Stores sums of columns from `column` on, with their terms, as elements at `offset` of the destination, rows `stride` apart.
  void store(const SumBlock& block, const SumTerms& terms, int64_t column, int64_t offset, int64_t stride) const;

  /// work(part, begin, end) for each part of [0, count), each part on a separate thread.
  template <class Work>
  void divide(int64_t count, const Work& work) const {
    const int64_t parts = std::min<int64_t>(team_.library == nullptr ? 1 : team_.threads, count);
    team_.divide(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) work(part, count * part / parts, count * (part + 1) / parts);
    });
  }

  static const float* as_floats(const std::byte* data) { return reinterpret_cast<const float*>(data); }

  IntegerParameters parameters_;
  Team team_;
  int64_t columns_;  ///< of all groups
  IntegerIsa isa_ = best_integer_isa();
  std::byte *source_ = nullptr, *weights_ = nullptr, *destination_ = nullptr, *scratch_ = nullptr;
  int32_t source_zero_point_ = 0;
  std::vector<int32_t> zeros_, bias_;  ///< per column
  std::vector<float> factors_;
  QuantizedRange range_;

 private:
  ParameterOperands given_;
  std::vector<std::byte**> slots_;
};

/// One matrix product of a kernel.
struct Product {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t first_column = 0;  ///< index among the parameters
  const std::byte* panels = nullptr;
  int64_t destination = 0, row_stride = 0;  ///< in elements
};

/// Products whose rows are provided by load_rows().
class ProductKernel : public IntegerKernel {
 public:
  using IntegerKernel::IntegerKernel;

  [[nodiscard]] int64_t scratchpad_bytes() const override { return team_.threads * part_bytes() + packing_bytes(); }

 protected:
  /// Writes rows [row, row + count) of source number `source`, each padded_depth() long; bytes beyond depth are arbitrary.
  virtual void load_rows(int64_t source, int64_t row, int64_t count, uint8_t* out) const = 0;
  [[nodiscard]] virtual int64_t depth() const = 0;
  [[nodiscard]] virtual int64_t packing_bytes() const { return 0; }
  [[nodiscard]] std::byte* packing_scratch() const { return scratch_ + team_.threads * part_bytes(); }

  void multiply(int64_t source, const Product& product);

 private:
  [[nodiscard]] int64_t block_bytes() const;
  [[nodiscard]] int64_t part_bytes() const;

  void run_block(int64_t source, const Product& product, int64_t row, int64_t first_panel, int64_t last_panel, int64_t part) const;
};

}  // namespace relayout::exec
