#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relayout::test {

inline constexpr const char* kNoModels = "no models: neither RELAYOUT_MODELS nor ~/.cache/relayout/models has any";

/// model.onnx of every model in the cache (RELAYOUT_MODELS, else ~/.cache/relayout/models), sorted; none when there is no cache.
[[nodiscard]] std::vector<std::filesystem::path> cached_models();
/// model.onnx of the model in the folder NAME (of real models: real/NAME); empty, with a message on standard output, when there is none.
[[nodiscard]] std::filesystem::path cached_model(const std::string& name);

}  // namespace relayout::test
