// Tests the real architectures, if present: folds, conversion there and back, idempotence, and the verdicts of verify on right and wrong
// models.
#include <cstring>
#include <iterator>

#include "command/command_test.h"
#include "report/json.h"
#include "support/model_cache.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct RealModel {
  const char* name;
  int batch_norms, folded;
};

constexpr RealModel kModels[] = {
    {"resnet18", 20, 20},
    {"resnet18_external", 20, 20},
    {"resnet50", 53, 53},
    {"resnext50_32x4d", 53, 53},
    {"mobilenet_v2", 52, 52},
    {"mobilenet_v2_raw", 52, 52},
    {"mnasnet1_0", 52, 52},
    {"mobilenet_v3_small", 34, 34},
    {"shufflenet_v2_x0_5", 56, 56},
    {"shufflenet_v2_x0_5_raw", 56, 56},
    {"shufflenet_v2_x1_0", 56, 56},
    {"googlenet", 57, 57},
    {"inception_v3", 94, 94},
    {"unet2d", 17, 17},
    {"unet3d", 17, 17},
    {"r3d_18", 20, 20},
    {"densenet121", 121, 59},
    {"squeezenet1_1", 0, 0},
};

class Models : public CommandTest, public testing::WithParamInterface<RealModel> {
 protected:
  void SetUp() override {
    model_ = cached_model(GetParam().name);
    if (model_.empty()) GTEST_SKIP();
    for (const char* name : {"a", "b", "c", "d"}) fs::create_directory(folder_ / name);
  }

  /// Converts into a folder, under the same file name in each, so that locations of external data are equal.
  void convert(const fs::path& input, const std::string& folder, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments = {"convert", input, "-o", folder + "/m.onnx"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProcessResult result = run(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    report_ = result.out;
  }

  /// Expects that all files of two folders are the same, byte for byte.
  void expect_same_files(const std::string& a, const std::string& b) {
    for (const auto& entry : fs::directory_iterator(folder_ / a)) {
      EXPECT_TRUE(read_file(entry.path()) == read_file(folder_ / b / entry.path().filename().string())) << entry.path();
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / a), fs::directory_iterator()),
              std::distance(fs::directory_iterator(folder_ / b), fs::directory_iterator()));
  }

  fs::path model_;
  std::string report_;
};

TEST_P(Models, FoldAsDocumented) {
  convert(model_, "a", {"--json"});
  const Json findings = *Json::parse(report_, "report").find("models")->at(0)->find("findings");
  int folded = 0, skipped = 0;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Json finding = *findings.at(i);
    if (finding.find("op_type")->text() != "BatchNormalization" || finding.find("pass")->text() != "fold-batch-norm") continue;
    const std::string verdict = finding.find("verdict")->text().value();
    folded += verdict == "done" ? 1 : 0;
    skipped += verdict == "skipped" ? 1 : 0;
    EXPECT_EQ(verdict == "skipped", finding.find("reason").has_value());
  }
  EXPECT_EQ(folded, GetParam().folded);
  EXPECT_EQ(folded + skipped, GetParam().batch_norms);
  const ProcessResult inspected = run({"inspect", model_});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  if (GetParam().batch_norms > 0) {
    EXPECT_THAT(inspected.out,
                HasSubstr(std::to_string(folded) + " of " + std::to_string(GetParam().batch_norms) + " BatchNormalizations will fold"));
  }
}

TEST_P(Models, TwiceIsOnce) {
  convert(model_, "a");
  convert(folder_ / "a" / "m.onnx", "b");
  expect_same_files("a", "b");
}

TEST_P(Models, ThereAndBack) {
  convert(model_, "a");
  convert(folder_ / "a" / "m.onnx", "b", {"--layout", "contiguous"});
  convert(model_, "c", {"--layout", "keep"});
  expect_same_files("b", "c");
}

TEST_P(Models, PassNoneIsACopy) {
  convert(model_, "a", {"--pass", "none"});
  EXPECT_TRUE(read_file(folder_ / "a" / "m.onnx") == read_file(model_));
}

class SlowModels : public Models {
 protected:
  /// Makes one convolution's weights of a converted model 5 % larger.
  void scale_one_weight(const fs::path& path) {
    onnx::ModelProto model = load_model(path);
    for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
      if (tensor.dims_size() < 4 || tensor.data_type() != onnx::TensorProto::FLOAT) continue;
      std::string& raw = *tensor.mutable_raw_data();
      for (std::size_t at = 0; at + sizeof(float) <= raw.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, raw.data() + at, sizeof value);
        value *= 1.05F;
        std::memcpy(raw.data() + at, &value, sizeof value);
      }
      save_model(model, path);
      return;
    }
    FAIL() << "no convolution weight";
  }
};

TEST_P(SlowModels, VerifySaysSameToTheConverted) {
  convert(model_, "a");
  const ProcessResult result = run({"verify", model_, "a/m.onnx"}, {.timeout = 600});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_P(SlowModels, VerifySaysDifferentToAScaledWeight) {
  convert(model_, "a", {"--external-data", "never"});
  scale_one_weight(folder_ / "a" / "m.onnx");
  const ProcessResult result = run({"verify", model_, "a/m.onnx"}, {.timeout = 600});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
}

TEST_P(SlowModels, ConvertedGivesTheStoredOutputs) {
  convert(model_, "a");
  const ProcessResult result = run({"verify", "a/m.onnx", "--data", model_.parent_path()}, {.timeout = 600});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

std::string name_of(const testing::TestParamInfo<RealModel>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Set, Models, testing::ValuesIn(kModels), name_of);
INSTANTIATE_TEST_SUITE_P(Set, SlowModels, testing::ValuesIn(kModels), name_of);

}  // namespace
}  // namespace relayout::test
