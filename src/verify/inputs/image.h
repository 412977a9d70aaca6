#pragma once

#include <filesystem>
#include <span>

#include "relayout/verify.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Whether a file of this name is an image: .png .jpg .jpeg .bmp .gif .tga .ppm .pgm .psd .hdr
[[nodiscard]] bool is_image_name(const std::filesystem::path& path);

/// Error{usage} for options that none of these inputs heeds: those that get an image.
void check_image_options(std::span<const Port> inputs, const ImageOptions& options);

/// An image as an input wants it: [N, C, H, W] or [N, H, W, C] (with or without N) of one, three or four channels, resized where the
/// input or the options say so (bilinear), as values of its type: integers 0 … 255; floats 0 … 1, then (x − mean) / deviation.
[[nodiscard]] Tensor image_tensor(std::span<const std::byte> file, const Port& port, const ImageOptions& options);

}  // namespace relayout
