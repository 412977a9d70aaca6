#pragma once

#include <filesystem>
#include <optional>

#include "relayout/inputs.h"
#include "verify/inputs/image.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Contents of one input from a file: .npy, .npz (the array of the input's name, or the only one), images (see image.h), .bin and .raw
/// (elements as in memory, little-endian), everything else as protobuf (see data_file.h). Free dims of a raw file come from --shape and
/// --dim; a single one follows from its size. The result fits the port's declaration. Errors name the file.
[[nodiscard]] Datum read_input_file(const std::filesystem::path& path, const Port& port, const InputOptions& options);

/// Sizes of a picture before it is read as an input; nullopt if reading it will fail.
[[nodiscard]] std::optional<ImageSizes> picture_sizes(const std::filesystem::path& path, const Port& port, const ImageOptions& options);

}  // namespace relayout
