// Convolves 8-bit integers with exact sums.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

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

/// sums[i] = Σ over taps sources[tap][i] · weights[tap][i]; all are integers that floats hold exactly.
void sum_taps(int32_t* sums, const float* const* sources, const float* weights, int64_t taps, int64_t count) {
  if (instruction_set() == InstructionSet::avx512) return sum_wide(sums, sources, weights, taps, count);
  sum_narrow(sums, sources, weights, taps, count);
}

/// Differences from the zero point.
RELAYOUT_VECTORIZE void center(const uint8_t* bytes, uint8_t flip, int32_t zero, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int32_t>(bytes[i] ^ flip) - zero);
}

/// Taps of a window that are side by side: some in the padding, those at `offset` of the image, others in the padding.
struct GeometryLine {
  int64_t before = 0, count = 0, after = 0, offset = 0;
};

/// The spatial dims padded to three by leading ones, and the sizes that follow from them.
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
  /// Bytes from the image's first byte to the one that a tap reads for a position; −1 in the padding.
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
  /// Whether taps along the last dim, with their channels, are side by side in memory.
  [[nodiscard]] bool has_lines() const { return spec.groups == 1 && spec.dilations[2] == 1; }
  /// visit(number of the first tap, line) for all lines of the window at a position.
  template <class Visit>
  void for_each_line(const std::array<int64_t, 3>& position, const Visit& visit) const {
    const int64_t width = spec.kernel[2], first = position[2] * spec.strides[2] - spec.before[2];
    const int64_t before = std::clamp<int64_t>(-first, 0, width), end = std::clamp<int64_t>(spec.source[4] - first, before, width);
    int64_t number = 0;
    for (int64_t d = 0; d < spec.kernel[0]; ++d) {
      for (int64_t h = 0; h < spec.kernel[1]; ++h, number += width) {
        const int64_t offset = end > before ? this->offset(position, {d, h, before}) : -1;
        visit(number, offset < 0 ? GeometryLine{width, 0, 0, 0} : GeometryLine{before, end - before, width - end, offset});
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
      if (geometry_.has_lines()) {
        geometry_.for_each_line(position, [&](int64_t number, const GeometryLine& line) {
          uint8_t* const to = out + number * run;
          std::memset(to, source_zero_point_, as_size(line.before * run));
          if (line.count > 0) std::memcpy(to + line.before * run, image + line.offset, as_size(line.count * run));
          std::memset(to + (line.before + line.count) * run, source_zero_point_, as_size(line.after * run));
        });
        continue;
      }
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

/// Products of differences of bytes are below 2^16, so sums of this many are below 2^24.
constexpr int64_t kMostDepthwiseTaps = 256;

/// Computes in f32, which holds such sums without rounding.
class DepthwiseKernel : public IntegerKernel {
 public:
  DepthwiseKernel(IntegerConvolution given, const IntegerParameters& parameters, Team team)
      : IntegerKernel(parameters, given.destination[1], team), geometry_(std::move(given)) {
    const IntegerConvolution& spec = geometry_.spec;
    for (std::size_t i = 0; i < 3; ++i) last_tap_[i] = spec.kernel[i] - 1;
    geometry_.for_each_tap([&](int64_t, const std::array<int64_t, 3>& tap) {
      const int64_t line = tap[0] * spec.dilations[0] * spec.source[3] + tap[1] * spec.dilations[1];
      distances_.push_back((line * spec.source[4] + tap[2] * spec.dilations[2]) * geometry_.channels);
    });
  }

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
  [[nodiscard]] int64_t weights_bytes() const { return whole_lines(geometry_.taps * columns_ * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t image_bytes() const { return whole_lines(geometry_.image_bytes() * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t padding_bytes() const { return whole_lines(columns_ * int64_t{sizeof(float)}); }
  [[nodiscard]] int64_t sums_bytes() const { return whole_lines(columns_ * int64_t{sizeof(int32_t)}); }

  struct Centered {
    const float *image, *padding, *weights;
  };

  /// Positions whose window is inside the image share the distances between its taps.
  void run_positions(int64_t number, int64_t begin, int64_t end, const Centered& centered, int32_t* sums) const {
    std::array<const float*, kMostDepthwiseTaps> sources;
    const SumTerms terms{reinterpret_cast<const uint32_t*>(bias_.data()), nullptr, nullptr};
    for (int64_t i = begin; i < end; ++i) {
      const auto position = geometry_.position(i);
      const int64_t first = geometry_.offset(position, {0, 0, 0});
      if (first >= 0 && geometry_.offset(position, last_tap_) >= 0) {
        for (std::size_t tap = 0; tap < distances_.size(); ++tap) sources[tap] = centered.image + first + distances_[tap];
      } else {
        geometry_.for_each_tap([&](int64_t tap_number, const std::array<int64_t, 3>& tap) {
          const int64_t offset = geometry_.offset(position, tap);
          element_at(sources, tap_number) = offset < 0 ? centered.padding : centered.image + offset;
        });
      }
      sum_taps(sums, sources.data(), centered.weights, geometry_.taps, columns_);
      store({sums, 1, columns_}, terms, 0, (number * geometry_.positions + i) * columns_, columns_);
    }
  }

  Geometry geometry_;
  std::array<int64_t, 3> last_tap_{};
  std::vector<int64_t> distances_;  ///< of each tap from the first, in elements
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

}  // namespace relayout::exec
