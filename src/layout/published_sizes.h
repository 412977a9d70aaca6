// Sizes of images and videos that networks are published with: layout plans assume the first ones (224 × 224, 16 frames of 112 × 112) for
// free dims, and `verify` tries all of them in this order.
#pragma once

#include <array>
#include <cstdint>

namespace relayout::layout {

/// Sizes of the dims after batch and channels; a picture has no third.
using SpatialSizes = std::array<int64_t, 3>;

/// First those of ImageNet's networks.
inline constexpr auto kPublishedImages =
    std::to_array<SpatialSizes>({{224, 224}, {256, 256}, {299, 299}, {32, 32}, {28, 28}, {320, 320}, {384, 384}, {512, 512}, {640, 640}});
/// First those of Kinetics' networks (torchvision's models).
inline constexpr auto kPublishedVideos = std::to_array<SpatialSizes>({{16, 112, 112}, {64, 64, 64}, {8, 224, 224}});

}  // namespace relayout::layout
