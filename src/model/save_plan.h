#pragma once

#include <filesystem>
#include <vector>

#include "model/segments.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

/// The files that a save has to write.
struct SavePlan {
  Segments model;
  struct Data {
    std::filesystem::path path;
    Segments content;
  };
  std::vector<Data> data;
};

/// Plans the files of a save in ONNX's binary format. Error{usage} if one of them would replace a file of the input that is not converted
/// in place; Error{unsupported} for a model that does not fit into one file.
[[nodiscard]] SavePlan plan_save(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

/// Error{usage} if the file is the model's own and the options do not say --in-place.
void refuse_own_file(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

}  // namespace relayout
