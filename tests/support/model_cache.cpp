#include "support/model_cache.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <system_error>

namespace relayout::test {

namespace fs = std::filesystem;

namespace {

fs::path cache() {
  const char* const variable = std::getenv("RELAYOUT_MODELS");
  const char* const home = std::getenv("HOME");
  return variable != nullptr ? fs::path(variable) : fs::path(home != nullptr ? home : "") / ".cache/relayout/models";
}

}  // namespace

std::vector<fs::path> cached_models() {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache(), error)) {
    const fs::path model = entry.path() / "model.onnx";
    if (fs::is_regular_file(model, error)) out.push_back(model);
  }
  std::ranges::sort(out);
  return out;
}

fs::path cached_model(const std::string& name) {
  std::error_code error;
  fs::path model = cache() / name / "model.onnx";
  if (fs::is_regular_file(model, error)) return model;
  std::cout << "SKIPPED: no model " << name << " in RELAYOUT_MODELS or ~/.cache/relayout/models\n";
  return {};
}

}  // namespace relayout::test
