// Tests that every export is standard ONNX: another runtime gives the same bits, and --layout contiguous restores the file.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relayout/convert.h"
#include "relayout/layout.h"
#include "support/model_cache.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

/// Converts with one export alone, and back to the original bytes.
void expect_there_and_back(const fs::path& model, const fs::path& result, ConvertOptions options) {
  options.rewrite.fold = false;
  options.skip = {"remove-unused"};
  ASSERT_TRUE(convert(model, result, options).written);
  const fs::path back = result.string() + ".back";
  ConvertOptions undo;
  undo.rewrite.fold = false;
  undo.skip = {"remove-unused"};
  undo.rewrite.layout = WeightsLayout::contiguous;
  ASSERT_TRUE(convert(result, back, undo).written);
  EXPECT_TRUE(test::read_file(back) == test::read_file(model)) << result;
  fs::remove(back);
}

void expect_exports(const test::TemporaryFolder& folder, const fs::path& model, const std::string& name) {
  fs::copy_file(model, folder / (name + ".original.onnx"));
  ConvertOptions weights, io, transposes;
  io.rewrite.layout = transposes.rewrite.layout = WeightsLayout::keep;
  io.rewrite.export_io = true;
  transposes.rewrite.export_transposes = true;
  expect_there_and_back(model, folder / (name + ".weights.onnx"), weights);
  expect_there_and_back(model, folder / (name + ".io.onnx"), io);
  expect_there_and_back(model, folder / (name + ".transposes.onnx"), transposes);
}

/// Runs a script of this folder if Python has onnxruntime.
void expect_script(const std::string& name, const std::vector<std::string>& arguments) {
  const char* const chosen = std::getenv("RELAYOUT_PYTHON");
  std::vector<std::string> command{"/usr/bin/env", chosen != nullptr ? chosen : "python3", source_folder() + "/tests/convert/" + name};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const test::ProcessResult result = test::run_process(command, {.timeout = 600});
  if (result.code == 77 || result.code == 127) {
    GTEST_SKIP() << "no Python with onnxruntime (RELAYOUT_PYTHON names one): " << result.out << result.err;
  }
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST(Exports, OneModelInOnnxRuntime) {
  const test::TemporaryFolder folder;
  expect_exports(folder, source_folder() + "/testdata/resnet18_eighth/model.onnx", "resnet18_eighth");
  expect_script("onnxruntime_equal.py", {folder.path()});
}

/// Tools that search the initializers for a weight recognize a converted model again once it is converted back.
TEST(Exports, L100QuantizeAfterLayoutContiguous) {
  const test::TemporaryFolder folder;
  const fs::path model = source_folder() + "/testdata/resnet18_eighth/model.onnx";
  ConvertOptions options;
  options.rewrite.fold = false;
  ASSERT_TRUE(convert(model, folder / "converted.onnx", options).written);
  options.rewrite.layout = WeightsLayout::contiguous;
  ASSERT_TRUE(convert(folder / "converted.onnx", folder / "back.onnx", options).written);
  expect_script("onnxruntime_quantize.py", {model, folder / "converted.onnx", folder / "back.onnx"});
}

TEST(SlowExports, AllModelsInOnnxRuntime) {
  const auto models = test::cached_models();
  if (models.empty()) GTEST_SKIP() << test::kNoModels;
  for (const fs::path& model : models) {
    const std::string name = model.parent_path().filename();
    if (name.ends_with("_external")) continue;
    const test::TemporaryFolder folder;
    expect_exports(folder, model, name);
    expect_script("onnxruntime_equal.py", {folder.path()});
  }
}

}  // namespace
}  // namespace relayout
