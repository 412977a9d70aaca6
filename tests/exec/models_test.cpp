// Real architectures against their stored outputs, which come from double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "exec/model_builder.h"
#include "model/origin.h"
#include "support/model_cache.h"

namespace relayout::test {
namespace {

Tensor stored(const std::filesystem::path& path) {
  onnx::TensorProto message;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(message.ParseFromIstream(&file)) << path;
  return load_tensor(ModelOrigin{}, message);
}

/// Largest difference over the range of the expected values.
double error_of(const Tensor& got, const Tensor& wanted) {
  if (got.dims() != wanted.dims()) return HUGE_VAL;
  const std::vector<float> a = values_of(got), b = values_of(wanted);
  const auto [low, high] = std::ranges::minmax(b);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= worst)) worst = difference;
  }
  return worst / (static_cast<double>(high) - static_cast<double>(low));
}

void expect_stored_outputs(const std::filesystem::path& path, std::initializer_list<Mode> modes, std::initializer_list<int> threads) {
  const auto model = Model::load(path);
  const std::string input = model->graph().inputs().front()->name();
  for (const Mode mode : modes) {
    for (const int count : threads) {
      ExecuteOptions options;
      options.mode = mode;
      options.threads = count;
      Executor executor(model->graph(), options);
      for (int set = 0;; ++set) {
        const auto folder = path.parent_path() / ("test_data_set_" + std::to_string(set));
        if (!std::filesystem::exists(folder)) break;
        const Outputs out = executor.run({{input, stored(folder / "input_0.pb")}});
        EXPECT_LT(error_of(out.at(0).tensor, stored(folder / "output_0.pb")), 1e-5)
            << path << " " << folder.filename() << " " << to_string(mode) << " with " << count << " threads";
      }
      for (const StepInfo& step : executor.plan_info().steps) {
        EXPECT_EQ(step.implementation.find("ref"), std::string::npos) << path << " " << step.node << " " << step.implementation;
      }
    }
  }
}

TEST(Models, SmallOnesGiveTheirStoredOutputs) {
  for (const char* name : {"mobilenet_v3_small", "shufflenet_v2_x0_5_raw"}) {
    const std::filesystem::path path = cached_model(name);
    if (path.empty()) GTEST_SKIP() << kNoModels;
    expect_stored_outputs(path, {Mode::reference, Mode::as_written, Mode::optimized}, {1, 2});
  }
}

TEST(SlowModels, AllGiveTheirStoredOutputs) {
  const auto models = cached_models();
  if (models.empty()) GTEST_SKIP() << kNoModels;
  for (const auto& path : models) expect_stored_outputs(path, {Mode::as_written, Mode::optimized}, {1, 2});
}

TEST(SlowModels, AllGiveTheirStoredOutputsByReference) {
  const auto models = cached_models();
  if (models.empty()) GTEST_SKIP() << kNoModels;
  for (const auto& path : models) expect_stored_outputs(path, {Mode::reference}, {2});
}

/// One conversion of the input when optimized, none as written: what the layout plan promises.
TEST(Models, OptimizedPlansReorderTheInputOnly) {
  for (const char* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "googlenet"}) {
    const std::filesystem::path path = cached_model(name);
    if (path.empty()) GTEST_SKIP() << kNoModels;
    const auto model = Model::load(path);
    Executor executor(model->graph(), {});
    (void)executor.run({{model->graph().inputs().front()->name(), tensor_of({1, 3, 224, 224}, std::vector<float>(150528, 1))}});
    EXPECT_EQ(executor.plan_info().reorders, 1) << name;
    EXPECT_EQ(executor.plan_info().packs, 0) << name;
    EXPECT_GT(executor.plan_info().macs, 100'000'000) << name;
    EXPECT_GT(executor.plan_info().packed_bytes, 1'000'000) << name;
  }
}

}  // namespace
}  // namespace relayout::test
