// Tests that the library's parallel work runs on the program's threads, with the same bits on every number of threads.

#include <cstdlib>
#include <iterator>

#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

std::ptrdiff_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

std::vector<float> wave(int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 37) / 37 - 0.5F;
  return out;
}

/// Convolution (the library's), AveragePool and Softmax (relayout's kernels), product (the library's), each long enough for a team.
ModelBuilder network() {
  ModelBuilder builder;
  builder.input("x", {1, 64, 56, 56})
      .constant("w", {64, 64, 3, 3}, wave(int64_t{64} * 64 * 9))
      .constant("m", {56, 56}, wave(int64_t{56} * 56))
      .node("Conv", {"x", "w"}, {"a"})
      .integers("pads", {1, 1, 1, 1})
      .node("AveragePool", {"a"}, {"b"})
      .integers("kernel_shape", {3, 3})
      .integers("pads", {1, 1, 1, 1})
      .node("Softmax", {"b"}, {"c"})
      .node("MatMul", {"c", "m"}, {"y"})
      .output("y");
  return builder;
}

TEST(Threads, TheLibraryAndRelayoutsKernelsShareOnePool) {
  const auto has = [](const char* name) { return std::getenv(name) != nullptr; };
  if (has("OMP_WAIT_POLICY") || has("GOMP_SPINCOUNT") || has("OMP_PROC_BIND") || has("OMP_PLACES") || has("GOMP_CPU_AFFINITY")) {
    GTEST_SKIP() << "the environment asks for OpenMP's own threads";
  }
  const auto model = network().build();
  ExecuteOptions options;
  options.threads = 3;
  Executor executor(model->graph(), options);
  Tensor x(DataType::float32, {1, 64, 56, 56});
  const std::vector<float> values = wave(x.element_count());
  std::memcpy(x.bytes(), values.data(), values.size() * sizeof(float));
  const auto before = thread_count();
  const Outputs first = executor.run({{"x", Datum(x)}});
  EXPECT_LE(thread_count(), before + 2);
  for (int i = 0; i < 50; ++i) {
    const Outputs again = executor.run({{"x", Datum(x)}});
    const auto bytes = static_cast<std::size_t>(again[0].tensor.element_count()) * sizeof(float);
    ASSERT_EQ(std::memcmp(again[0].tensor.bytes(), first[0].tensor.bytes(), bytes), 0);
  }
}

/// A depthwise convolution of one tap computes little and moves much: an image of 800 KB is worth a team, one of 1 KB is not.
TEST(Threads, StepsThatMoveMuchTakeTheTeam) {
  for (const auto& [side, threads] : {std::pair<int64_t, int>{56, 2}, {2, 1}}) {
    ModelBuilder builder;
    builder.input("x", {1, 64, side, side}).constant("w", {64, 1, 1, 1}, wave(64)).node("Conv", {"x", "w"}, {"c"}).integer("group", 64);
    const auto model = builder.output("c").build();
    ExecuteOptions options;
    options.threads = 2;
    Executor executor(model->graph(), options);
    (void)executor.run({{"x", Datum(Tensor(DataType::float32, {1, 64, side, side}))}});
    const auto& steps = executor.plan_info().steps;
    const auto step = std::ranges::find(steps, "Conv", &StepInfo::op_type);
    ASSERT_NE(step, steps.end());
    EXPECT_EQ(step->threads, threads) << side;
  }
}

/// Means of channels-last images are sums of parts of their rows, which several threads share.
TEST(Threads, SpatialMeansAreTheSameBitsOnAnyNumber) {
  for (const Dims& dims : {Dims{1, 480, 14, 14}, {1, 96, 57, 31}, {2, 1000, 9, 9}, {1, 3, 300, 301}}) {
    ModelBuilder builder;
    builder.input("x", dims).constant("w", {dims[1], 1, 1, 1}, wave(dims[1])).node("Conv", {"x", "w"}, {"c"}).integer("group", dims[1]);
    builder.node("GlobalAveragePool", {"c"}, {"y"}).output("y");
    const auto model = builder.build();
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 8}) {
      ExecuteOptions options;
      options.threads = threads;
      options.layout = LayoutChoice::always;
      const Outputs out = Executor(model->graph(), options).run({{"x", Datum(tensor_of(dims, wave(element_count(dims))))}});
      if (first.empty()) first = values_of(out[0].tensor);
      EXPECT_EQ(values_of(out[0].tensor), first) << threads << " threads, " << dims[1] << " channels";
    }
  }
}

}  // namespace
}  // namespace relayout::test
