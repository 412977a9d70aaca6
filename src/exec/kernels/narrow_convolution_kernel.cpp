// Convolves to very few outputs, each as a sum of products of vectors of channels.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Most positions of a block; positions times outputs are sums that fit the registers.
constexpr int kMostPositions = 12;

/// An element of the windows of one line of positions, unless it is padding for all of them.
struct Tap {
  const float* line;     ///< of the source
  int64_t x;             ///< its index in the line at the first position; negative in the padding
  const float* source;   ///< that element
  const float* weights;  ///< of the first output
};

/// The operands of one block of positions. Channels of element t of the window of position p begin at taps[t].source + first + p · step or,
/// where there is padding, at at[t · positions + p].
struct Block {
  const Tap* taps;
  int64_t count;  ///< of taps
  int64_t channels, output_step;
  int64_t first, step;
  const float* const* at;  ///< null: no padding
};

template <int kBytes>
[[gnu::always_inline]] inline float sum_of_lanes(const typename VectorOf<float, kBytes>::Type& vector) {
  if constexpr (kBytes == 16) {
    return (vector[0] + vector[1]) + (vector[2] + vector[3]);
  } else {
    using Half = typename VectorOf<float, kBytes / 2>::Type;
    Half low, high;
    std::memcpy(&low, &vector, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&vector) + sizeof low, sizeof high);
    return sum_of_lanes<kBytes / 2>(low + high);
  }
}

/// Sums of `kPositions` positions, [position][output].
template <int kBytes, int kPositions, int kOutputs, bool kHasPadding>
[[gnu::always_inline]] inline void sum_block(const Block& block, float* sums) {
  using Floats = typename VectorOf<float, kBytes>::Type;
  constexpr int64_t kLanes = VectorOf<float, kBytes>::kLanes;
  Floats totals[kPositions][kOutputs] = {};
  for (int64_t tap = 0; tap < block.count; ++tap) {
    const float* from[kPositions];
    for (int p = 0; p < kPositions; ++p) {
      from[p] = kHasPadding ? block.at[tap * kPositions + p] : block.taps[tap].source + block.first + p * block.step;
    }
    const float* const weights = block.taps[tap].weights;
    for (int64_t c = 0; c < block.channels; c += kLanes) {
      Floats factors[kOutputs];
      for (int m = 0; m < kOutputs; ++m) factors[m] = *reinterpret_cast<const Floats*>(weights + m * block.output_step + c);
      for (int p = 0; p < kPositions; ++p) {
        const Floats x = *reinterpret_cast<const Floats*>(from[p] + c);
        for (int m = 0; m < kOutputs; ++m) totals[p][m] += x * factors[m];
      }
    }
  }
  for (int p = 0; p < kPositions; ++p) {
    for (int m = 0; m < kOutputs; ++m) sums[p * kOutputs + m] = sum_of_lanes<kBytes>(totals[p][m]);
  }
}

/// Positions of a block: there are 32 registers where they have 64 bytes, else 16.
constexpr int positions_of(int outputs, bool is_wide) {
  return is_wide ? std::min(24 / outputs, kMostPositions) : 12 / outputs;
}

template <int kBytes, bool kIsWide, int kOutputs>
[[gnu::always_inline]] inline void sum_outputs(const Block& block, float* sums) {
  constexpr int kPositions = positions_of(kOutputs, kIsWide);
  if (block.at == nullptr) return sum_block<kBytes, kPositions, kOutputs, false>(block, sums);
  sum_block<kBytes, kPositions, kOutputs, true>(block, sums);
}

template <int kBytes, bool kIsWide>
[[gnu::always_inline]] inline void sum_any(const Block& block, int64_t outputs, float* sums) {
  switch (outputs) {
    case 1:
      return sum_outputs<kBytes, kIsWide, 1>(block, sums);
    case 2:
      return sum_outputs<kBytes, kIsWide, 2>(block, sums);
    case 3:
      return sum_outputs<kBytes, kIsWide, 3>(block, sums);
    default:
      return sum_outputs<kBytes, kIsWide, 4>(block, sums);
  }
}

RELAYOUT_VECTORIZE void sum_wide(const Block& block, int64_t outputs, float* sums) {
  sum_any<64, true>(block, outputs, sums);
}
RELAYOUT_VECTORIZE void sum_wide_by_eight(const Block& block, int64_t outputs, float* sums) {
  sum_any<32, true>(block, outputs, sums);
}
RELAYOUT_VECTORIZE void sum_narrow(const Block& block, int64_t outputs, float* sums) {
  sum_any<32, false>(block, outputs, sums);
}
RELAYOUT_VECTORIZE void sum_plain(const Block& block, int64_t outputs, float* sums) {
  sum_any<16, false>(block, outputs, sums);
}

using SumBlock = void (*)(const Block& block, int64_t outputs, float* sums);

SumBlock choose(int64_t channels) {
  switch (instruction_set()) {
    case InstructionSet::avx512:
      return channels % 16 == 0 ? sum_wide : sum_wide_by_eight;
    case InstructionSet::avx2:
      return sum_narrow;
    case InstructionSet::sse41:
      return sum_plain;
  }
  return sum_plain;
}

class NarrowConvolutionKernel : public Kernel {
  static constexpr std::size_t kSpatial = 3;

 public:
  NarrowConvolutionKernel(const NarrowConvolution& spec, Team team)
      : spec_(spec),
        team_(team),
        channels_(spec.source[1]),
        outputs_(spec.destination[1]),
        positions_(positions_of(static_cast<int>(outputs_), instruction_set() == InstructionSet::avx512)),
        sum_(choose(channels_)),
        zeros_(as_size(channels_)) {
    while (spec_.kernel.size() < kSpatial) {
      for (Dims* dims : {&spec_.kernel, &spec_.strides, &spec_.dilations}) dims->insert(dims->begin(), 1);
      spec_.before.insert(spec_.before.begin(), 0);
      for (Dims* dims : {&spec_.source, &spec_.destination}) dims->insert(dims->begin() + 2, 1);
    }
    taps_ = element_count(spec_.kernel);
  }

  void bind(std::size_t operand, std::byte* data) override {
    auto* const values = reinterpret_cast<float*>(data);
    if (operand == 0) {
      source_ = values;
    } else if (operand == 1) {
      weights_ = values;
    } else if (operand == 2 && spec_.has_bias) {
      bias_ = values;
    } else {
      destination_ = values;
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own narrow"; }

  void run() override {
    const Dims& to = spec_.destination;
    const int64_t rows = to[0] * to[2] * to[3];
    team_.divide(rows, kElementsPerPart / (to[4] * taps_ * channels_ / 8 + 1) + 1, [&](int64_t begin, int64_t end) {
      std::vector<Tap> taps;
      std::vector<const float*> at(as_size(taps_ * positions_));
      for (int64_t row = begin; row < end; ++row) {
        find_taps(row, taps);
        for (int64_t first = 0; first < to[4]; first += positions_) run_block(row, first, taps, at);
      }
    });
  }

 private:
  void find_taps(int64_t row, std::vector<Tap>& taps) const {
    const Dims &from = spec_.source, &to = spec_.destination;
    const int64_t image = row / (to[2] * to[3]), plane = row / to[3] % to[2], line = row % to[3];
    taps.clear();
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const int64_t w = tap % spec_.kernel[2], h = tap / spec_.kernel[2] % spec_.kernel[1], d = tap / spec_.kernel[2] / spec_.kernel[1];
      const int64_t z = plane * spec_.strides[0] - spec_.before[0] + d * spec_.dilations[0];
      const int64_t y = line * spec_.strides[1] - spec_.before[1] + h * spec_.dilations[1];
      if (z < 0 || z >= from[2] || y < 0 || y >= from[3]) continue;
      const float* const start = source_ + ((image * from[2] + z) * from[3] + y) * from[4] * channels_;
      const int64_t x = w * spec_.dilations[2] - spec_.before[2];
      taps.push_back({start, x, start + x * channels_, weights_ + tap * channels_});
    }
  }

  void run_block(int64_t row, int64_t first, const std::vector<Tap>& taps, std::vector<const float*>& at) const {
    const int64_t width = spec_.destination[4], stride = spec_.strides[2];
    Block block{taps.data(), std::ssize(taps), channels_, taps_ * channels_, first * stride * channels_, stride * channels_, nullptr};
    const int64_t low = first * stride - spec_.before[2];
    const int64_t high = low + (positions_ - 1) * stride + (spec_.kernel[2] - 1) * spec_.dilations[2];
    if (low < 0 || high >= spec_.source[4] || first + positions_ > width) {
      find_sources(first, taps, at);
      block.at = at.data();
    }
    float sums[kMostPositions * NarrowConvolution::kMostOutputs];
    sum_(block, outputs_, sums);
    float* const to = destination_ + (row * width + first) * outputs_;
    const int64_t count = std::min(positions_, width - first) * outputs_;
    for (int64_t i = 0; i < count; ++i) to[i] = bias_ == nullptr ? sums[i] : sums[i] + bias_[i % outputs_];
  }

  /// Addresses of the channels under each element of the windows of adjacent positions, tap by tap; zeros for padding and for positions
  /// beyond the last.
  void find_sources(int64_t first, const std::vector<Tap>& taps, std::vector<const float*>& at) const {
    std::size_t next = 0;
    for (const Tap& tap : taps) {
      int64_t x = tap.x + first * spec_.strides[2];
      for (int64_t p = 0; p < positions_; ++p, x += spec_.strides[2]) {
        at[next++] = x >= 0 && x < spec_.source[4] ? tap.line + x * channels_ : zeros_.data();
      }
    }
  }

  NarrowConvolution spec_;  ///< of three spatial dims
  Team team_;
  int64_t channels_, outputs_, positions_, taps_ = 1;
  SumBlock sum_;
  std::vector<float> zeros_;
  const float *source_ = nullptr, *weights_ = nullptr, *bias_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace

Tensor narrow_weights(const Tensor& weights) {
  Dims order{0};
  for (std::size_t i = 2; i < weights.dims().size(); ++i) order.push_back(static_cast<int64_t>(i));
  order.push_back(1);
  return contiguous(weights.transposed(order));
}

std::unique_ptr<Kernel> make_narrow_convolution_kernel(const NarrowConvolution& spec, Team team) {
  return std::make_unique<NarrowConvolutionKernel>(spec, team);
}

}  // namespace relayout::exec
