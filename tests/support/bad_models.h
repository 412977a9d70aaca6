#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace relayout::test {

/// One bad file: a function that writes `model.onnx` into an empty folder, and the program's reply to it.
struct BadModel {
  std::string name;  ///< number and case, as in test names: "B13L54RawDataShorter"
  std::function<void(const std::filesystem::path& folder)> make;
  int code = 3;         ///< exit code of convert and inspect
  int verify_code = 3;  ///< of verify
  std::string says;     ///< part of the line on standard error
};

/// All cases that are a single file: B7 to B48.
[[nodiscard]] const std::vector<BadModel>& bad_models();

}  // namespace relayout::test
