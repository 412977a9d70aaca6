// Quantizes exact sums of 8-bit products again, and multiplies by blocks of rows, for all integer kernels; multiplies matrices.

#include "exec/kernels/integer_kernel.h"

#include <array>
#include <cstring>

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr int64_t kColumns = IntegerPanel::kColumns;
constexpr int64_t kBlockRows = 48;

constexpr int64_t kLanes = 16;

/// Adding and subtracting 1.5 · 2^23 rounds half to even; NaN becomes the lower end.
[[gnu::always_inline]] inline uint8_t quantized(int32_t sum, float factor, const QuantizedRange& range) {
  constexpr float kRounder = 12582912.0F;
  const float scaled = static_cast<float>(sum) * factor;
  const float low = scaled > range.low ? scaled : range.low;
  const float bounded = low < range.high ? low : range.high;
  return static_cast<uint8_t>(static_cast<int32_t>((bounded + kRounder) - kRounder) + range.zero);
}

/// The sum of column n of a row whose elements of the left matrix have this sum.
template <bool kHasZeros>
[[gnu::always_inline]] inline int32_t finished(const int32_t* sums, const SumTerms& terms, uint32_t row_sum, int64_t n) {
  const uint32_t sum = static_cast<uint32_t>(sums[n]) + terms.offsets[n];
  return static_cast<int32_t>(kHasZeros ? sum - terms.zeros[n] * row_sum : sum);
}

/// Rows are often short: they are processed in whole lanes, of which the last overlap the previous ones.
template <bool kHasZeros>
[[gnu::always_inline]] inline void quantize_row(const int32_t* sums, const SumTerms& terms, uint32_t row_sum, const float* factors,
                                                const QuantizedRange& range, uint8_t* out, int64_t count) {
  if (count < kLanes) {
    for (int64_t n = 0; n < count; ++n) out[n] = quantized(finished<kHasZeros>(sums, terms, row_sum, n), factors[n], range);
    return;
  }
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t at = std::min(i, count - kLanes);
    uint8_t lanes[kLanes];
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = quantized(finished<kHasZeros>(sums, terms, row_sum, at + lane), factors[at + lane], range);
    }
    std::memcpy(out + at, lanes, sizeof lanes);
  }
}

RELAYOUT_VECTORIZE void quantize(const SumBlock& block, const SumTerms& terms, const float* factors, QuantizedRange range, uint8_t* out,
                                 int64_t stride) {
  for (int64_t r = 0; r < block.rows; ++r, out += stride) {
    const int32_t* const sums = block.sums + r * kColumns;
    if (terms.row_sums == nullptr) {
      quantize_row<false>(sums, terms, 0, factors, range, out, block.columns);
    } else {
      quantize_row<true>(sums, terms, terms.row_sums[r], factors, range, out, block.columns);
    }
  }
}

RELAYOUT_VECTORIZE void finish(const SumBlock& block, const SumTerms& terms, int32_t* out, int64_t stride) {
  for (int64_t r = 0; r < block.rows; ++r, out += stride) {
    const int32_t* const sums = block.sums + r * kColumns;
    if (terms.row_sums == nullptr) {
      for (int64_t n = 0; n < block.columns; ++n) out[n] = finished<false>(sums, terms, 0, n);
    } else {
      for (int64_t n = 0; n < block.columns; ++n) out[n] = finished<true>(sums, terms, terms.row_sums[r], n);
    }
  }
}

RELAYOUT_VECTORIZE void flip_signs(uint8_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) bytes[i] ^= 0x80;
}

}  // namespace

int32_t byte_at(const std::byte* data, DataType type, int64_t index) {
  const auto value = static_cast<uint8_t>(data[index]);
  return type == DataType::int8 ? static_cast<int8_t>(value) : value;
}

IntegerKernel::IntegerKernel(const IntegerParameters& parameters, int64_t columns, Team team)
    : parameters_(parameters), team_(team), columns_(columns), zeros_(as_size(columns)), bias_(zeros_.size()) {
  slots_ = {&source_, &weights_};
  if (parameters.source_zero) slots_.push_back(&given_.source_zero);
  if (parameters.weights_zeros > 0) slots_.push_back(&given_.weights_zeros);
  if (parameters.requantizes) {
    for (std::byte** slot : {&given_.source_scale, &given_.weights_scales, &given_.destination_scale, &given_.destination_zero})
      slots_.push_back(slot);
    factors_.resize(zeros_.size());
  }
  if (parameters.bias) slots_.push_back(&given_.bias);
  slots_.push_back(&destination_);
}

void IntegerKernel::prepare() {
  source_zero_point_ = given_.source_zero == nullptr ? 0 : byte_at(given_.source_zero, parameters_.source_type, 0);
  for (std::size_t n = 0; n < zeros_.size(); ++n) {
    const auto each = [&](int64_t count) { return count == 1 ? 0 : static_cast<int64_t>(n); };
    zeros_[n] =
        given_.weights_zeros == nullptr ? 0 : byte_at(given_.weights_zeros, parameters_.weights_type, each(parameters_.weights_zeros));
    bias_[n] = given_.bias == nullptr ? 0 : reinterpret_cast<const int32_t*>(given_.bias)[n];
    if (!parameters_.requantizes) continue;
    const float weights_scale = as_floats(given_.weights_scales)[each(parameters_.weights_scales)];
    factors_[n] = *as_floats(given_.source_scale) * weights_scale / *as_floats(given_.destination_scale);
  }
  if (!parameters_.requantizes) return;
  const bool is_signed = parameters_.destination_type == DataType::int8;
  const int32_t low = is_signed ? INT8_MIN : 0, high = is_signed ? INT8_MAX : UINT8_MAX;
  range_.zero = byte_at(given_.destination_zero, parameters_.destination_type, 0);
  range_.low = static_cast<float>(low - range_.zero);
  range_.high = static_cast<float>(high - range_.zero);
}

void IntegerKernel::store(const SumBlock& block, const SumTerms& terms, int64_t column, int64_t offset, int64_t stride) const {
  std::byte* const out = destination_ + offset * element_bytes();
  if (parameters_.requantizes) {
    quantize(block, terms, factors_.data() + column, range_, reinterpret_cast<uint8_t*>(out), stride);
  } else {
    finish(block, terms, reinterpret_cast<int32_t*>(out), stride);
  }
}

void ProductKernel::multiply(int64_t source, const Product& product) {
  const int64_t row_blocks = (product.rows + kBlockRows - 1) / kBlockRows;
  const int64_t panels = panel_count(product.columns);
  const int64_t slices = row_blocks >= team_.threads ? 1 : std::min<int64_t>(panels, team_.threads);
  divide(row_blocks * slices, [&](int64_t part, int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t slice = task % slices;
      run_block(source, product, task / slices * kBlockRows, panels * slice / slices, panels * (slice + 1) / slices, part);
    }
  });
}

void ProductKernel::run_block(int64_t source, const Product& product, int64_t row, int64_t first_panel, int64_t last_panel,
                              int64_t part) const {
  auto* const block = reinterpret_cast<uint8_t*>(scratch_ + part * part_bytes());
  auto* const sums = reinterpret_cast<int32_t*>(scratch_ + part * part_bytes() + block_bytes());
  const int64_t rows = std::min(kBlockRows, product.rows - row), padded = padded_depth(product.depth);
  load_rows(source, row, rows, block);
  if (parameters_.source_type == DataType::int8) flip_signs(block, rows * padded);
  std::array<uint32_t, kBlockRows> row_sums{};
  bool has_row_sums = false;
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const std::byte* const data = product.panels + panel * panel_bytes(product.depth);
    const int64_t column = panel * kColumns, count = std::min(kColumns, product.columns - column);
    multiply_panel(isa_, rows, product.depth, block, data, count, sums);
    // Σ (a − za)(b − zb) = Σ ab − za·Σb − zb·Σa + depth·za·zb, with shifted values and zero points.
    std::array<uint32_t, kColumns> zeros{}, offsets{};
    bool has_zeros = false;
    const int32_t za = source_zero_point_ + (parameters_.source_type == DataType::int8 ? kShift : 0);
    for (int64_t n = 0; n < count; ++n) {
      const auto at = as_size(product.first_column + column + n), i = as_size(n);
      const int32_t zb = zeros_[at] - (parameters_.weights_type == DataType::uint8 ? kShift : 0);
      has_zeros = has_zeros || zb != 0;
      zeros[i] = static_cast<uint32_t>(zb);
      offsets[i] = static_cast<uint32_t>(bias_[at]) -
                   static_cast<uint32_t>(za) * static_cast<uint32_t>(panel_sums(data, product.depth)[n]) +
                   static_cast<uint32_t>(za) * zeros[i] * static_cast<uint32_t>(product.depth);
    }
    if (has_zeros && !has_row_sums) {
      has_row_sums = true;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < product.depth; ++k) element_at(row_sums, r) += block[r * padded + k];
      }
    }
    const SumTerms terms{offsets.data(), zeros.data(), has_zeros ? row_sums.data() : nullptr};
    store({sums, rows, count}, terms, product.first_column + column, product.destination + row * product.row_stride + column,
          product.row_stride);
  }
}

int64_t ProductKernel::block_bytes() const {
  return whole_lines(kBlockRows * padded_depth(depth()));
}

int64_t ProductKernel::part_bytes() const {
  return block_bytes() + kBlockRows * kColumns * int64_t{sizeof(int32_t)};
}

// Products of matrices.
namespace {

class IntegerMatmulKernel : public ProductKernel {
 public:
  IntegerMatmulKernel(IntegerMatmul product, const IntegerParameters& parameters, Team team)
      : ProductKernel(parameters, product.columns, team), product_(std::move(product)) {}

  void run() override {
    prepare();
    int64_t packed = -1;  // offset of the weights that are packed in the scratchpad
    for (std::size_t i = 0; i < product_.pairs.size(); ++i) {
      const IntegerMatmul::Pair& pair = product_.pairs[i];
      const std::byte* panels = weights_;
      if (!product_.packed) {
        panels = packing_scratch();
        if (packed != pair.weights) {
          pack_panels({weights_ + pair.weights, product_.depth, product_.columns, product_.weights_depth_stride,
                       product_.weights_column_stride, parameters_.weights_type == DataType::uint8},
                      packing_scratch());
        }
        packed = pair.weights;
      }
      multiply(static_cast<int64_t>(i), {product_.rows, product_.depth, product_.columns, 0, panels, pair.destination, product_.columns});
    }
  }

 protected:
  [[nodiscard]] int64_t depth() const override { return product_.depth; }
  [[nodiscard]] int64_t packing_bytes() const override {
    return product_.packed ? 0 : panel_count(product_.columns) * panel_bytes(product_.depth);
  }

  void load_rows(int64_t source, int64_t row, int64_t count, uint8_t* out) const override {
    const std::byte* const first = source_ + element_at(product_.pairs, source).source;
    for (int64_t r = 0; r < count; ++r) {
      std::memcpy(out + r * padded_depth(product_.depth), first + (row + r) * product_.source_row_stride, as_size(product_.depth));
    }
  }

 private:
  IntegerMatmul product_;
};

}  // namespace

std::unique_ptr<Kernel> make_integer_matmul_kernel(const IntegerMatmul& product, const IntegerParameters& parameters, Team team) {
  return std::make_unique<IntegerMatmulKernel>(product, parameters, team);
}

}  // namespace relayout::exec
