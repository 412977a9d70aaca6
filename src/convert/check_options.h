#pragma once

#include <filesystem>

#include "relayout/convert.h"
#include "relayout/model.h"

namespace relayout {

/// Tensors can only be shared with a model that has data files, and from its folder.
void check_sharing(const Model& model, const std::filesystem::path& output);

/// Named inputs and outputs become channels-last, or nothing is written.
void check_named_ports(const ConvertResult& result, const ConvertOptions& options);

/// A model that is entirely in one 16-bit type stays so when the other is requested: nothing is written.
void check_precision(const ConvertResult& result);

}  // namespace relayout
