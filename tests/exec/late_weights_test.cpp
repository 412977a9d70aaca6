#include <gmock/gmock.h>

#include "base/random.h"
#include "exec/model_builder.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

constexpr int64_t kSize = 512;  ///< of matrices, each of 1 MiB

/// Readers of weights by steps, by views and after a node whose dims depend on data; one weight is read in all three plans, one is an
/// output.
std::unique_ptr<Model> model_of_readers() {
  const auto weight = [](const std::string& name) { return small_integers(kSize * kSize, RandomStream(3, name), 0); };
  const Dims square{kSize, kSize};
  ModelBuilder builder;
  builder.input("x", {2, kSize});
  for (const char* const name : {"a", "b", "c", "d", "e"}) builder.constant(name, square, weight(name));
  builder.constant<int64_t>("rows", {2}, {3, 500}).constant<int64_t>("kept", {1}, {-1});
  builder.node("MatMul", {"x", "a"}, {"xa"}).node("Sign", {"xa"}, {"s"});
  builder.node("Gemm", {"s", "b"}, {"sb"}).integer("transB", 1).node("Gather", {"b", "rows"}, {"g"}).node("Add", {"sb", "g"}, {"u"});
  builder.node("Transpose", {"c"}, {"ct"}).integers("perm", {1, 0}).node("MatMul", {"s", "ct"}, {"v"});
  builder.node("Add", {"d", "d"}, {"dd"}).node("MatMul", {"s", "dd"}, {"w"});
  builder.node("NonZero", {"s"}, {"n"}).node("Transpose", {"n"}, {"nt"}).integers("perm", {1, 0});
  builder.node("GatherND", {"s", "nt"}, {"z"}).node("ReduceSum", {"z", "kept"}, {"sum"}).integer("keepdims", 1);
  builder.node("MatMul", {"s", "a"}, {"sa"}).node("Mul", {"sa", "sum"}, {"t"}).node("Add", {"e", "sum"}, {"te"});
  for (const char* const name : {"u", "v", "w", "t", "te", "e"}) builder.output(name);
  return builder.build();
}

TEST(LateWeights, GiveTheSameInEachModeAndRun) {
  const auto model = model_of_readers();
  const Inputs inputs{{"x", tensor_of({2, kSize}, small_integers(2 * kSize, RandomStream(4, "x"), 0))}};
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    for (const bool watched : {false, true}) {
      ExecuteOptions options;
      options.mode = mode;
      if (watched) options.watch = [](const Computed&) {};
      Executor early(model->graph(), options);
      options.weights_late = true;
      Executor late(model->graph(), options);
      const Outputs wanted = early.run(inputs);
      for (int run = 0; run < 2; ++run) {
        const Outputs got = late.run(inputs);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          EXPECT_EQ(values_of(got[i].tensor), values_of(wanted[i].tensor)) << to_string(mode) << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace relayout::test
