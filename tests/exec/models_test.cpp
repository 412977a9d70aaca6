// Tests real architectures against their stored outputs, which were computed in double precision.

#include <cmath>
#include <fstream>
#include <ios>

#include "base/machine.h"
#include "exec/model_builder.h"
#include "exec/routine.h"
#include "layout/cost.h"
#include "model/origin.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
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

/// The plan is executed: one conversion of the input, two if the output is an image, packs only where channels are split.
TEST(Models, OptimizedPlansReorderTheInputOnly) {
  struct Expected {
    const char* name;
    Dims input;
    int64_t reorders, packs;
  };
  const Expected kExpected[] = {{"resnet18", {1, 3, 224, 224}, 1, 0},           {"mobilenet_v2", {1, 3, 224, 224}, 1, 0},
                                {"mobilenet_v3_small", {1, 3, 224, 224}, 1, 0}, {"squeezenet1_1", {1, 3, 224, 224}, 1, 0},
                                {"googlenet", {1, 3, 224, 224}, 1, 0},          {"shufflenet_v2_x0_5", {1, 3, 224, 224}, 1, 13}};
  for (const Expected& expected : kExpected) {
    const std::filesystem::path path = cached_model(expected.name);
    if (path.empty()) GTEST_SKIP() << kNoModels;
    const auto model = Model::load(path);
    for (const int threads : {1, 2}) {
      ExecuteOptions options;
      options.threads = threads;
      Executor executor = ExecutorBuilder::build(model->graph(), options, &layout::default_costs(InstructionSet::avx512));
      const std::vector<float> ones(static_cast<std::size_t>(element_count(expected.input)), 1);
      (void)executor.run({{model->graph().inputs().front()->name(), tensor_of(expected.input, ones)}});
      const PlanInfo& info = executor.plan_info();
      EXPECT_EQ(info.planned_reorders, expected.reorders) << expected.name;
      EXPECT_EQ(info.reorders, expected.reorders) << expected.name;
      EXPECT_EQ(info.planned_packs, expected.packs) << expected.name;
      EXPECT_EQ(info.packs, expected.packs) << expected.name;
      EXPECT_GT(info.macs, 10'000'000) << expected.name;
      EXPECT_GT(info.packed_bytes, 1'000'000) << expected.name;
    }
  }
}

/// Layouts are planned without opening the library, for the instruction set that it then uses.
TEST(Models, InstructionSetIsTheLibrarys) {
  const std::string isa = onednn_info().isa;
  const InstructionSet expected = isa.starts_with("AVX-512") ? InstructionSet::avx512
                                  : isa.starts_with("AVX2")  ? InstructionSet::avx2
                                                             : InstructionSet::sse41;
  EXPECT_EQ(instruction_set(), expected) << isa;
}

/// On every model, the plan is executed, with at most one reorder, or two for unet2d.
TEST(SlowModels, PlannedReordersAreExecuted) {
  const auto models = cached_models();
  if (models.empty()) GTEST_SKIP() << kNoModels;
  for (const auto& path : models) {
    const auto model = Model::load(path);
    const Value& input = *model->graph().inputs().front();
    ExecuteOptions options;
    Executor executor = ExecutorBuilder::build(model->graph(), options, &layout::default_costs(InstructionSet::avx512));
    (void)executor.run({{input.name(), stored(path.parent_path() / "test_data_set_0" / "input_0.pb")}});
    const PlanInfo& info = executor.plan_info();
    EXPECT_EQ(info.reorders, info.planned_reorders) << path;
    EXPECT_EQ(info.packs, info.planned_packs) << path;
    EXPECT_LE(info.reorders, path.string().find("unet2d") != std::string::npos ? 2 : 1) << path;
  }
}

}  // namespace
}  // namespace relayout::test
