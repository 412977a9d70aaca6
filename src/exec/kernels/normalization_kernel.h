#pragma once

#include <cstdint>
#include <memory>

#include "exec/kernels/kernel.h"

namespace relayout::exec {

// Normalizations of f32 to mean 0 and variance 1. Sums are in double, the same for any number of threads. Operands: source, scale and shift
// (`parameters` f32 each), destination, which may be the source.

/// Dense lines of one length, each normalized separately. A line consists of `runs` equal runs; run r of line i is scaled and shifted by
/// element (i · runs + r) mod `parameters`.
struct LineNormalizationShape {
  int64_t lines = 1, length = 1, runs = 1, parameters = 1;
  float epsilon = 0;
};
[[nodiscard]] std::unique_ptr<Kernel> make_line_normalization_kernel(const LineNormalizationShape& shape, Team team);

/// Dense images [images, positions, channels]: each group of `group` adjacent channels of an image is normalized separately, then scaled
/// and shifted by one number for each channel (`parameters` = channels) or each group.
struct ChannelNormalizationShape {
  int64_t images = 1, positions = 1, channels = 1, group = 1, parameters = 1;
  float epsilon = 0;
};
[[nodiscard]] std::unique_ptr<Kernel> make_channel_normalization_kernel(const ChannelNormalizationShape& shape, Team team);

}  // namespace relayout::exec
