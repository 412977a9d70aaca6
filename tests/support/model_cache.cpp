#include "support/model_cache.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <system_error>

namespace relayout::test {

std::vector<std::filesystem::path> cached_models() {
  namespace fs = std::filesystem;
  const char* const variable = std::getenv("RELAYOUT_MODELS");
  const char* const home = std::getenv("HOME");
  const fs::path root = variable != nullptr ? fs::path(variable) : fs::path(home != nullptr ? home : "") / ".cache/relayout/models";
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const fs::path model = entry.path() / "model.onnx";
    if (fs::is_regular_file(model, error)) out.push_back(model);
  }
  std::ranges::sort(out);
  return out;
}

std::filesystem::path cached_model(const std::string& name) {
  for (const std::filesystem::path& model : cached_models()) {
    if (model.parent_path().filename() == name) return model;
  }
  std::cout << "SKIPPED: no model " << name << " in RELAYOUT_MODELS or ~/.cache/relayout/models\n";
  return {};
}

}  // namespace relayout::test
