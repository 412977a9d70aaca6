// Tests that every export is standard ONNX: another runtime gives the same bits, and --layout contiguous restores the file.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relayout/convert.h"
#include "relayout/layout.h"
#include "support/model_cache.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

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

/// Loops that run once or never, in the place where ONNX Runtime runs them, with names of outside within.
TEST(Exports, LoopsInOnnxRuntime) {
  const test::TemporaryFolder folder;
  const std::string body =
      "<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] s, int64 t, float[2] r) <float k = {3}> { d = Identity (c) "
      " f = "
      "Cast <to = 1> (i)  a = Mul (v, k)  w = If (c) <then_branch = t () => (float[2] p) { p = Sub (a, z) }, else_branch = e () => "
      "(float[2] q) "
      "{ q = Exp (v) }>  s = Add (w, f)  t = Identity (i)  r = Identity (z) }>";
  const std::string head = "g (float[2] x, float[2] z) => (float[2] y, float[A,2] s, int64[A] t, float[A,2] u) ";
  int number = 0;
  for (const std::string loop :
       {"<int64 n = {1}> { y, s, t, u = Loop (n, , x) ", "<int64[1] n = {1}, bool o = {1}> { y, s, t, u = Loop (n, o, x) ",
        "<int64 n = {0}> { y, s, t, u = Loop (n, , x) ", "<int64 n = {7}, bool o = {0}> { y, s, t, u = Loop (n, o, x) "}) {
    for (const int opset : {11, 17}) {
      const std::string name = folder / std::to_string(++number);
      const test::TextModel model(head + loop + body + " }", "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>");
      test::write_file(name + ".a.onnx", model.bytes());
      ConvertOptions options;
      options.rewrite.simplify = true;
      ASSERT_TRUE(convert(name + ".a.onnx", name + ".b.onnx", options).written);
      EXPECT_LT(fs::file_size(name + ".b.onnx"), fs::file_size(name + ".a.onnx"));
      EXPECT_EQ(test::read_file(name + ".b.onnx").find("Loop"), std::string::npos) << loop;
    }
  }
  expect_script("onnxruntime_pairs.py", {folder.path()});
}

/// An image channels-last and as bytes, from the numbers that ONNX Runtime gives of the original.
TEST(Exports, BytesInOnnxRuntime) {
  const test::TemporaryFolder folder;
  test::write_file(
      folder / "a.onnx",
      test::TextModel("g (float[1,3,16,16] x) => (float[1,3,16,16] y) <float[3,3,3,3] W, float[3] B> { y = Conv <pads = [1, 1, 1, "
                      "1]> (x, W, B) }")
          .bytes());
  ConvertOptions options;
  options.verify = true;
  options.rewrite.export_io = true;
  options.rewrite.layout = WeightsLayout::keep;
  options.rewrite.output_bytes = {.names = {"y"}, .mean = {0.25}, .deviation = {0.5}};
  ASSERT_TRUE(convert(folder / "a.onnx", folder / "b.onnx", options).written);
  options.rewrite.export_io = false;
  options.rewrite.undo_io = true;
  const ConvertResult undone = convert(folder / "b.onnx", folder / "undone.onnx", options);
  ASSERT_TRUE(undone.written);
  EXPECT_TRUE(undone.verification && undone.verification->outcome == Outcome::same);
  expect_script("onnxruntime_bytes.py", {folder / "a.onnx", folder / "b.onnx", folder / "undone.onnx"});
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
