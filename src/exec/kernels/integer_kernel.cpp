// Products and convolutions of 8-bit integers, with exact 32-bit sums.
#include "exec/kernels/integer_kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/instruction_set.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/integer_product.h"
#include "exec/kernels/kernel.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr int64_t kColumns = IntegerPanel::kColumns;
constexpr int64_t kAlignment = 64;
constexpr int64_t kBlockRows = 48;
constexpr int32_t kShift = 128;  ///< of values that a panel or a row holds with the other signedness

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

RELAYOUT_VECTORIZE void add_to(uint32_t* sums, const uint32_t* offsets, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += offsets[i];
}

RELAYOUT_VECTORIZE void subtract_multiple(uint32_t* sums, const uint32_t* factors, uint32_t multiple, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] -= factors[i] * multiple;
}

/// The range of round(sum · factor) in which adding the zero point stays in the type.
struct QuantizedRange {
  float low = 0, high = 0;
  int32_t zero = 0;
};

constexpr int64_t kLanes = 16;

/// Adding and taking away 1.5 · 2^23 rounds half to even; NaN becomes the lower end.
[[gnu::always_inline]] inline uint8_t quantized(int32_t sum, float factor, const QuantizedRange& range) {
  constexpr float kRounder = 12582912.0F;
  const float scaled = static_cast<float>(sum) * factor;
  const float low = scaled > range.low ? scaled : range.low;
  const float bounded = low < range.high ? low : range.high;
  return static_cast<uint8_t>(static_cast<int32_t>((bounded + kRounder) - kRounder) + range.zero);
}

/// Rows are often short: whole lanes, the last of which overlap those before.
RELAYOUT_VECTORIZE void quantize(const int32_t* sums, const float* factors, QuantizedRange range, uint8_t* out, int64_t count) {
  if (count < kLanes) {
    for (int64_t i = 0; i < count; ++i) out[i] = quantized(sums[i], factors[i], range);
    return;
  }
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t at = std::min(i, count - kLanes);
    uint8_t lanes[kLanes];
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = quantized(sums[at + lane], factors[at + lane], range);
    std::memcpy(out + at, lanes, sizeof lanes);
  }
}

RELAYOUT_VECTORIZE void flip_signs(uint8_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) bytes[i] ^= 0x80;
}

template <int kBytes>
[[gnu::always_inline]] inline void sum_vectors(int32_t* sums, const float* const* sources, const float* weights, int64_t taps,
                                               int64_t count) {
  using Floats = VectorOf<float, kBytes>::Type;
  constexpr int64_t kOfVector = VectorOf<float, kBytes>::kLanes;
  int64_t begin = 0;
  for (; begin + kOfVector <= count; begin += kOfVector) {
    Floats total = {};
    for (int64_t tap = 0; tap < taps; ++tap) {
      total += *reinterpret_cast<const Floats*>(sources[tap] + begin) * *reinterpret_cast<const Floats*>(weights + tap * count + begin);
    }
    for (int64_t i = 0; i < kOfVector; ++i) sums[begin + i] = static_cast<int32_t>(total[i]);
  }
  for (; begin < count; ++begin) {
    float total = 0;
    for (int64_t tap = 0; tap < taps; ++tap) total += sources[tap][begin] * weights[tap * count + begin];
    sums[begin] = static_cast<int32_t>(total);
  }
}

RELAYOUT_VECTORIZE void sum_wide(int32_t* sums, const float* const* sources, const float* weights, int64_t taps, int64_t count) {
  sum_vectors<64>(sums, sources, weights, taps, count);
}

RELAYOUT_VECTORIZE void sum_narrow(int32_t* sums, const float* const* sources, const float* weights, int64_t taps, int64_t count) {
  sum_vectors<32>(sums, sources, weights, taps, count);
}

/// sums[i] = Σ over taps sources[tap][i] · weights[tap][i], whole numbers that floats hold.
void sum_taps(int32_t* sums, const float* const* sources, const float* weights, int64_t taps, int64_t count) {
  if (instruction_set() == InstructionSet::avx512) return sum_wide(sums, sources, weights, taps, count);
  sum_narrow(sums, sources, weights, taps, count);
}

/// Differences to the zero point.
RELAYOUT_VECTORIZE void center(const uint8_t* bytes, uint8_t flip, int32_t zero, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int32_t>(bytes[i] ^ flip) - zero);
}

int32_t byte_at(const std::byte* data, DataType type, int64_t index) {
  const auto value = static_cast<uint8_t>(data[index]);
  return type == DataType::int8 ? static_cast<int8_t>(value) : value;
}

/// Addresses of the parameters' operands; null: the node has none such.
struct ParameterOperands {
  std::byte *source_zero = nullptr, *weights_zeros = nullptr, *source_scale = nullptr, *weights_scales = nullptr;
  std::byte *destination_scale = nullptr, *destination_zero = nullptr, *bias = nullptr;
};

/// Common part of all integer kernels: the parameters' operands, and the conversion of sums.
class IntegerKernel : public Kernel {
 public:
  IntegerKernel(const IntegerParameters& parameters, int64_t columns, Team team)
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

  void bind(std::size_t operand, std::byte* data) override { *slots_[operand] = data; }
  [[nodiscard]] std::string implementation() const override { return "own:" + std::string(to_string(isa_)); }
  void bind_scratchpad(std::byte* data) override { scratch_ = data; }

 protected:
  /// Reads the parameters of this run.
  void prepare() {
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

  [[nodiscard]] int64_t element_bytes() const { return parameters_.requantizes ? 1 : int64_t{sizeof(int32_t)}; }

  /// Sums of columns [column, column + count) as elements at `offset` of the destination.
  void store(const int32_t* sums, int64_t column, int64_t count, int64_t offset) const {
    std::byte* const out = destination_ + offset * element_bytes();
    if (parameters_.requantizes) {
      quantize(sums, factors_.data() + column, range_, reinterpret_cast<uint8_t*>(out), count);
    } else {
      std::memcpy(out, sums, as_size(count) * sizeof(int32_t));
    }
  }

  /// work(part, begin, end) for each part of [0, count), every part on a thread of its own.
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
  int64_t first_column = 0;  ///< among the parameters
  const std::byte* panels = nullptr;
  int64_t destination = 0, row_stride = 0;  ///< in elements
};

/// Products of rows that load_rows() lays out.
class ProductKernel : public IntegerKernel {
 public:
  using IntegerKernel::IntegerKernel;

  [[nodiscard]] int64_t scratchpad_bytes() const override { return team_.threads * part_bytes() + packing_bytes(); }

 protected:
  /// Rows [row, row + count) of source number `source`, each padded_depth() long; behind depth anything may lie.
  virtual void load_rows(int64_t source, int64_t row, int64_t count, uint8_t* out) const = 0;
  [[nodiscard]] virtual int64_t depth() const = 0;
  [[nodiscard]] virtual int64_t packing_bytes() const { return 0; }
  [[nodiscard]] std::byte* packing_scratch() const { return scratch_ + team_.threads * part_bytes(); }

  void multiply(int64_t source, const Product& product) {
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

 private:
  [[nodiscard]] int64_t block_bytes() const { return aligned(kBlockRows * padded_depth(depth())); }
  [[nodiscard]] int64_t part_bytes() const { return block_bytes() + kBlockRows * kColumns * int64_t{sizeof(int32_t)}; }

  void run_block(int64_t source, const Product& product, int64_t row, int64_t first_panel, int64_t last_panel, int64_t part) const {
    auto* const block = reinterpret_cast<uint8_t*>(scratch_ + part * part_bytes());
    auto* const sums = reinterpret_cast<int32_t*>(scratch_ + part * part_bytes() + block_bytes());
    const int64_t rows = std::min(kBlockRows, product.rows - row), padded = padded_depth(product.depth);
    load_rows(source, row, rows, block);
    if (parameters_.source_type == DataType::int8) flip_signs(block, rows * padded);
    std::array<int32_t, kBlockRows> row_sums{};
    bool has_row_sums = false;
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      const std::byte* const data = product.panels + panel * panel_bytes(product.depth);
      const int64_t column = panel * kColumns, count = std::min(kColumns, product.columns - column);
      multiply_panel(isa_, rows, product.depth, block, data, count, sums);
      // Σ (a − za)(b − zb) = Σ ab − za·Σb − zb·Σa + depth·za·zb, all of shifted values and zero points.
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
      for (int64_t r = 0; r < rows; ++r) {
        auto* const row_of_sums = reinterpret_cast<uint32_t*>(sums + r * kColumns);
        add_to(row_of_sums, offsets.data(), count);
        if (has_zeros) subtract_multiple(row_of_sums, zeros.data(), static_cast<uint32_t>(element_at(row_sums, r)), count);
        store(sums + r * kColumns, product.first_column + column, count, product.destination + (row + r) * product.row_stride + column);
      }
    }
  }
};

class IntegerMatmulKernel : public ProductKernel {
 public:
  IntegerMatmulKernel(IntegerMatmul product, const IntegerParameters& parameters, Team team)
      : ProductKernel(parameters, product.columns, team), product_(std::move(product)) {}

  void run() override {
    prepare();
    int64_t packed = -1;  // which weights lie packed in the scratchpad
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

/// The spatial dims filled up to three in front, and what follows from them.
struct Geometry {
  explicit Geometry(IntegerConvolution given) : spec(std::move(given)) {
    while (spec.kernel.size() < 3) {
      for (Dims* dims : {&spec.kernel, &spec.strides, &spec.dilations}) dims->insert(dims->begin(), 1);
      spec.before.insert(spec.before.begin(), 0);
      for (Dims* dims : {&spec.source, &spec.destination}) dims->insert(dims->begin() + 2, 1);
    }
    channels = spec.source[1];
    group_channels = channels / spec.groups;
    group_columns = spec.destination[1] / spec.groups;
    taps = spec.kernel[0] * spec.kernel[1] * spec.kernel[2];
    positions = spec.destination[2] * spec.destination[3] * spec.destination[4];
  }

  [[nodiscard]] int64_t depth() const { return taps * group_channels; }
  /// Bytes from the image's first to the one that a tap reads for a position; nothing (−1) in the padding.
  [[nodiscard]] int64_t offset(const std::array<int64_t, 3>& position, const std::array<int64_t, 3>& tap) const {
    int64_t at = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const int64_t here = position[i] * spec.strides[i] - spec.before[i] + tap[i] * spec.dilations[i];
      if (here < 0 || here >= spec.source[i + 2]) return -1;
      at = at * spec.source[i + 2] + here;
    }
    return at * channels;
  }
  [[nodiscard]] std::array<int64_t, 3> position(int64_t flat) const {
    const int64_t plane = spec.destination[3] * spec.destination[4];
    return {flat / plane, flat % plane / spec.destination[4], flat % spec.destination[4]};
  }
  /// visit(number, index) for all taps.
  template <class Visit>
  void for_each_tap(const Visit& visit) const {
    int64_t number = 0;
    for (int64_t d = 0; d < spec.kernel[0]; ++d) {
      for (int64_t h = 0; h < spec.kernel[1]; ++h) {
        for (int64_t w = 0; w < spec.kernel[2]; ++w) visit(number++, std::array<int64_t, 3>{d, h, w});
      }
    }
  }
  [[nodiscard]] int64_t image_bytes() const { return channels * spec.source[2] * spec.source[3] * spec.source[4]; }
  [[nodiscard]] int64_t group_bytes() const { return panel_count(group_columns) * panel_bytes(depth()); }

  IntegerConvolution spec;
  int64_t channels = 0, group_channels = 0, group_columns = 0, taps = 0, positions = 0;
};

class IntegerConvolutionKernel : public ProductKernel {
 public:
  IntegerConvolutionKernel(IntegerConvolution spec, const IntegerParameters& parameters, Team team)
      : ProductKernel(parameters, spec.destination[1], team), geometry_(std::move(spec)) {}

  void run() override {
    prepare();
    const int64_t groups = geometry_.spec.groups, columns = geometry_.group_columns;
    for (int64_t source = 0; source < geometry_.spec.source[0] * groups; ++source) {
      const int64_t group = source % groups;
      multiply(source, {geometry_.positions, geometry_.depth(), columns, group * columns, weights_ + group * geometry_.group_bytes(),
                        source / groups * geometry_.positions * columns_ + group * columns, columns_});
    }
  }

 protected:
  [[nodiscard]] int64_t depth() const override { return geometry_.depth(); }

  /// Padding reads as the zero point.
  void load_rows(int64_t source, int64_t row, int64_t count, uint8_t* out) const override {
    const int64_t groups = geometry_.spec.groups, run = geometry_.group_channels;
    const std::byte* const image = source_ + source / groups * geometry_.image_bytes() + source % groups * run;
    for (int64_t r = 0; r < count; ++r, out += padded_depth(depth())) {
      const auto position = geometry_.position(row + r);
      geometry_.for_each_tap([&](int64_t number, const std::array<int64_t, 3>& tap) {
        const int64_t offset = geometry_.offset(position, tap);
        if (offset < 0) {
          std::memset(out + number * run, source_zero_point_, as_size(run));
        } else {
          std::memcpy(out + number * run, image + offset, as_size(run));
        }
      });
    }
  }

 private:
  Geometry geometry_;
};

/// Products of differences of bytes are below 2^16, and sums of so many of them below 2^24.
constexpr int64_t kMostDepthwiseTaps = 256;

/// Computes in floats, which hold such sums without rounding.
class DepthwiseKernel : public IntegerKernel {
 public:
  DepthwiseKernel(IntegerConvolution spec, const IntegerParameters& parameters, Team team)
      : IntegerKernel(parameters, spec.destination[1], team), geometry_(std::move(spec)) {}

  [[nodiscard]] std::string implementation() const override { return "own"; }
  [[nodiscard]] int64_t scratchpad_bytes() const override {
    return weights_bytes() + image_bytes() + padding_bytes() + team_.threads * sums_bytes();
  }

  void run() override {
    prepare();
    auto* const weights = reinterpret_cast<float*>(scratch_);
    for (int64_t i = 0; i < geometry_.taps * columns_; ++i) {
      weights[i] = static_cast<float>(byte_at(weights_, parameters_.weights_type, i) - element_at(zeros_, i % columns_));
    }
    auto* const image = reinterpret_cast<float*>(scratch_ + weights_bytes());
    auto* const padding = reinterpret_cast<float*>(scratch_ + weights_bytes() + image_bytes());
    std::fill_n(padding, columns_, 0.0F);
    const bool is_signed = parameters_.source_type == DataType::int8;
    const int32_t zero = source_zero_point_ + (is_signed ? kShift : 0);
    for (int64_t number = 0; number < geometry_.spec.source[0]; ++number) {
      const auto* const bytes = reinterpret_cast<const uint8_t*>(source_ + number * geometry_.image_bytes());
      divide(geometry_.image_bytes(),
             [&](int64_t, int64_t begin, int64_t end) { center(bytes + begin, is_signed ? 0x80 : 0, zero, image + begin, end - begin); });
      divide(geometry_.positions, [&](int64_t part, int64_t begin, int64_t end) {
        std::byte* const sums = scratch_ + weights_bytes() + image_bytes() + padding_bytes() + part * sums_bytes();
        run_positions(number, begin, end, {image, padding, weights}, reinterpret_cast<int32_t*>(sums));
      });
    }
  }

 private:
  [[nodiscard]] int64_t weights_bytes() const { return aligned(geometry_.taps * columns_ * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t image_bytes() const { return aligned(geometry_.image_bytes() * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t padding_bytes() const { return aligned(columns_ * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t sums_bytes() const { return aligned(columns_ * int64_t{sizeof(int32_t)}); }

  struct Centered {
    const float *image, *padding, *weights;
  };

  void run_positions(int64_t number, int64_t begin, int64_t end, const Centered& centered, int32_t* sums) const {
    std::array<const float*, kMostDepthwiseTaps> sources;
    for (int64_t i = begin; i < end; ++i) {
      const auto position = geometry_.position(i);
      geometry_.for_each_tap([&](int64_t tap_number, const std::array<int64_t, 3>& tap) {
        const int64_t offset = geometry_.offset(position, tap);
        element_at(sources, tap_number) = offset < 0 ? centered.padding : centered.image + offset;
      });
      sum_taps(sums, sources.data(), centered.weights, geometry_.taps, columns_);
      add_to(reinterpret_cast<uint32_t*>(sums), reinterpret_cast<const uint32_t*>(bias_.data()), columns_);
      store(sums, 0, columns_, (number * geometry_.positions + i) * columns_);
    }
  }

  Geometry geometry_;
};

}  // namespace

bool is_depthwise(const IntegerConvolution& convolution) {
  if (convolution.groups == 1 || convolution.source[1] != convolution.groups || convolution.destination[1] != convolution.groups)
    return false;
  return Geometry(convolution).taps <= kMostDepthwiseTaps;
}

int64_t packed_bytes(const IntegerConvolution& convolution) {
  const Geometry geometry(convolution);
  return is_depthwise(convolution) ? geometry.taps * geometry.channels : convolution.groups * geometry.group_bytes();
}

void pack_weights(const IntegerConvolution& convolution, const Tensor& weights, std::byte* packed) {
  // As [M][taps][C/g].
  Dims order{0};
  for (int64_t axis = 2; axis < weights.rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  const Tensor plain = contiguous(weights.transposed(order));
  const Geometry geometry(convolution);
  const int64_t depth = geometry.depth(), columns = geometry.group_columns;
  if (is_depthwise(convolution)) {
    for (int64_t channel = 0; channel < geometry.channels; ++channel) {
      for (int64_t tap = 0; tap < geometry.taps; ++tap)
        packed[tap * geometry.channels + channel] = plain.bytes()[channel * geometry.taps + tap];
    }
    return;
  }
  for (int64_t group = 0; group < convolution.groups; ++group) {
    pack_panels({plain.bytes() + group * columns * depth, depth, columns, 1, depth, weights.type() == DataType::uint8},
                packed + group * geometry.group_bytes());
  }
}

std::unique_ptr<Kernel> make_integer_convolution_kernel(const IntegerConvolution& convolution, const IntegerParameters& parameters,
                                                        Team team) {
  if (is_depthwise(convolution)) return std::make_unique<DepthwiseKernel>(convolution, parameters, team);
  return std::make_unique<IntegerConvolutionKernel>(convolution, parameters, team);
}

std::unique_ptr<Kernel> make_integer_matmul_kernel(const IntegerMatmul& product, const IntegerParameters& parameters, Team team) {
  return std::make_unique<IntegerMatmulKernel>(product, parameters, team);
}

}  // namespace relayout::exec
