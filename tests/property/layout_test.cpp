// Random graphs in which all dims are different (primes), or many are 1: in whatever order each operator runs, results are bit for bit
// those of plain loops, because all values are small integers. Costs are drawn from the seed, so that operators run in both orders and the
// borders between orders are anywhere.
#include "relayout/layout.h"

#include <set>

#include "base/random.h"
#include "exec/model_builder.h"
#include "exec/routine.h"
#include "layout/cost.h"
#include "layout/layout_graph.h"
#include "layout/ports.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/many.h"
#include "support/random_graph.h"

namespace relayout::test {
namespace {

constexpr uint64_t kParts = 8, kGraphs = kMany * 24 / 1000;

/// Gains and copies drawn from the seed.
class RandomCosts : public layout::CostModel {
 public:
  explicit RandomCosts(uint64_t seed) : random_(seed, "costs") {}
  [[nodiscard]] int64_t copy_nanoseconds(const layout::LayoutValue& value) const override {
    return static_cast<int64_t>(random_.below(std::hash<std::string>()(value.value->name()), 30));
  }
  [[nodiscard]] Times times(const layout::LayoutGraph&, const layout::LayoutNode& node, const layout::Ports&) const override {
    const std::size_t key = std::hash<std::string>()(node.node->name());
    return {static_cast<int64_t>(random_.below(key, 60)), static_cast<int64_t>(random_.below(key + 1, 40))};
  }

 private:
  RandomStream random_;
};

class AnyLayout : public testing::TestWithParam<uint64_t> {};

TEST_P(AnyLayout, GivesTheSameBits) {
  for (uint64_t seed = GetParam(); seed < kGraphs; seed += kParts) {
    const RandomGraph graph(seed);
    const auto model = graph.model();
    const RandomCosts costs(seed);
    const std::string what = "seed " + std::to_string(seed) + "\n";
    RunResult reference;
    ASSERT_NO_THROW(reference = run_in(Mode::reference, *model, graph.inputs())) << what << to_text(*model);
    for (const LayoutChoice choice : {LayoutChoice::automatic, LayoutChoice::always}) {
      ExecuteOptions options;
      options.threads = 1 + static_cast<int>(seed % 2);
      options.layout = choice;
      Executor executor = ExecutorBuilder::build(model->graph(), options, &costs);
      const Outputs outputs = executor.run(graph.inputs());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_EQ(outputs[i].tensor.dims(), reference.outputs[i].dims()) << what << to_text(*model);
        ASSERT_EQ(values_of(outputs[i].tensor), values_of(reference.outputs[i])) << what << "output " << i << "\n" << to_text(*model);
      }
      // Fewer where a repeated value is in every order at once.
      ASSERT_LE(executor.plan_info().reorders, executor.plan_info().planned_reorders) << what << to_text(*model);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Layout, AnyLayout, testing::Range<uint64_t>(0, kParts));

/// The graphs above test little unless operators run in both orders.
TEST(RandomLayouts, ReachBothOrdersOfEveryOperator) {
  std::map<std::string, int> ordered, contiguous;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const RandomGraph graph(seed);
    const auto model = graph.model();
    const RandomCosts costs(seed);
    ExecuteOptions options;
    options.threads = 1;
    Executor executor = ExecutorBuilder::build(model->graph(), options, &costs);
    (void)executor.run(graph.inputs());
    for (const StepInfo& step : executor.plan_info().steps) {
      if (step.dims.size() < 3) continue;
      if (step.layout == "channels-last") ++ordered[step.op_type.substr(0, step.op_type.find(' '))];
      if (step.layout == "contiguous") ++contiguous[step.op_type.substr(0, step.op_type.find(' '))];
    }
  }
  for (const char* const op : {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "Resize", "Relu", "Neg", "Add", "Mul", "Concat", "Pad",
                               "Tile", "CumSum", "Where", "Greater", "Hardmax", "ReduceMax", "ScatterElements"}) {
    EXPECT_GT(ordered[op], 0) << op;
    EXPECT_GT(contiguous[op], 0) << op;
  }
}

}  // namespace
}  // namespace relayout::test
