#pragma once

#include "relayout/verify.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Whether a file of this name is an image: .png .jpg .jpeg .bmp .gif .tga .ppm .pgm .psd
[[nodiscard]] bool is_image_name(const std::filesystem::path& path);

/// Error{usage} for options that affect none of `inputs`, which are those that get an image.
void check_image_options(std::span<const Port> inputs, const ImageOptions& options);

/// Height and width of an image, and those that image_tensor() gives it.
struct ImageSizes {
  int64_t height = 0, width = 0, new_height = 0, new_width = 0;
  [[nodiscard]] bool is_resized() const noexcept { return height != new_height || width != new_width; }
};
/// From the file's header. Errors as in image_tensor().
[[nodiscard]] ImageSizes image_sizes(std::span<const std::byte> file, const Port& port, const ImageOptions& options);

/// An image as the tensor of an input: [N, C, H, W] or [N, H, W, C] (with or without N) of one, three or four channels. It is resized
/// (bilinear) to the sizes of the input or the options. Values are of the input's type: integers 0 … 255; floats 0 … 1, then (x − mean) /
/// deviation.
[[nodiscard]] Tensor image_tensor(std::span<const std::byte> file, const Port& port, const ImageOptions& options);

}  // namespace relayout
