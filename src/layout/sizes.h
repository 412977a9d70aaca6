#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout::layout {

/// The names that a user may give sizes to: inputs, and the symbols of their free dims.
struct SizeNames {
  std::vector<std::string> inputs, symbols;
  std::vector<std::string> defaults;  ///< inputs that the file has contents for
  std::string place = {};             ///< "net.onnx: ", the prefix of errors; empty where the caller adds it
  std::string fixed_input = {};       ///< the first input of fixed dims only, and its dims; empty: none
  Dims fixed_dims = {};
};
[[nodiscard]] SizeNames size_names(const Graph& graph);
/// Error{usage} with the nearest name when the model has no such input.
void check_input_name(std::string_view option, const std::string& name, const SizeNames& names);
/// Error{usage} with the nearest name when sizes are given to an input or a symbol that does not exist. `option` names symbols: --dim, or
/// --set-dim, which changes the model.
void check_sizes(const ShapeOptions& sizes, const SizeNames& names, std::string_view option = "--dim");

/// Whether the name of a free dim stands for "unknown", as exporters write it ("", "?", "-1", "None", "unk__12"): dims of that name need
/// not have the same size.
[[nodiscard]] bool is_unknown_dim(std::string_view symbol);
/// The name of a free dim: its symbol, or "dim 2 of x" where it has none that stands for one size.
[[nodiscard]] std::string free_dim_name(const Value& input, const ShapeInfo& declared, std::size_t axis);
/// Default sizes of free dims, by free_dim_name(): those of the images and volumes that networks are published with, for the dims after the
/// channels of an input that a convolution reads. All other free dims are taken as 1.
[[nodiscard]] std::map<std::string, int64_t> image_sizes(const Graph& graph);

/// Sizes of the dims after batch and channels; a picture has no third.
using SpatialSizes = std::array<int64_t, 3>;

// Sizes with which networks are published. Layout plans assume the first ones for free dims, and `verify` tries all of them in this order.

/// First those of ImageNet's networks.
inline constexpr auto kPublishedImages =
    std::to_array<SpatialSizes>({{224, 224}, {256, 256}, {299, 299}, {32, 32}, {28, 28}, {320, 320}, {384, 384}, {512, 512}, {640, 640}});
/// First those of Kinetics' networks (torchvision's models).
inline constexpr auto kPublishedVideos = std::to_array<SpatialSizes>({{16, 112, 112}, {64, 64, 64}, {8, 224, 224}});

}  // namespace relayout::layout
