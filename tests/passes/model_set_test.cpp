// Tests the passes on the architectures of the model cache, if present.

#include <gtest/gtest.h>

#include <ctime>
#include <iostream>

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/model_cache.h"

namespace relayout::test {
namespace {

struct Expected {
  const char* name;
  int folded, found;
  int convolutions;  ///< weights
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.name;
}

class ModelSetFolds : public ::testing::TestWithParam<Expected> {};

int64_t count(const Findings& findings, std::string_view pass, Verdict verdict) {
  return std::ranges::count_if(findings, [&](const Finding& finding) { return finding.pass == pass && finding.verdict == verdict; });
}

TEST_P(ModelSetFolds, FoldsAndMoves) {
  const Expected& expected = GetParam();
  const auto path = cached_model(expected.name);
  if (path.empty()) GTEST_SKIP() << kNoModels;
  const auto model = Model::load(path);
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default()) passes.push_back(&pass);
  }
  passes::PassContext context;
  const std::clock_t start = std::clock();
  passes::run_passes(*model, passes, context);
  std::cout << expected.name << ": passes " << static_cast<double>(std::clock() - start) * 1000 / CLOCKS_PER_SEC << " ms CPU\n";
  model->graph().validate();
  const auto& findings = context.findings;
  EXPECT_EQ(count(findings, "fold-batch-norm", Verdict::done), expected.folded);
  EXPECT_EQ(count(findings, "fold-batch-norm", Verdict::skipped), expected.found - expected.folded);
  for (const Finding& finding : findings) {
    if (finding.pass == "fold-batch-norm" && finding.verdict == Verdict::skipped) {
      EXPECT_EQ(to_string(finding.reason), to_string(Reason::nonlinear_between)) << finding.node << ": " << finding.detail;
    }
  }
  EXPECT_EQ(count(findings, "conv-weights-layout", Verdict::skipped), 0);
  EXPECT_EQ(count(findings, "conv-weights-layout", Verdict::done) + count(findings, "conv-weights-layout", Verdict::not_applicable),
            expected.convolutions);
  EXPECT_GT(count(findings, "conv-weights-layout", Verdict::done), 0);

  // No work is left, and undoing the order leaves no trace of it.
  passes::PassContext again;
  passes::run_passes(*model, passes, again);
  EXPECT_EQ(again.rewrites, 0);
  passes::PassContext back;
  back.options.layout = WeightsLayout::contiguous;
  passes::run_passes(*model, passes, back);
  EXPECT_EQ(back.rewrites, count(findings, "conv-weights-layout", Verdict::done));
  for (const Node& node : model->graph().nodes()) EXPECT_EQ(node.name().find(".channels_last"), std::string::npos);
}

/// Number of nodes left after all simplifications.
int64_t nodes_simplified(const std::filesystem::path& path) {
  const auto model = Model::load(path);
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (!pass.name.starts_with("export-")) passes.push_back(&pass);
  }
  passes::PassContext context;
  passes::run_passes(*model, passes, context);
  model->graph().validate();
  passes::PassContext again;
  passes::run_passes(*model, passes, again);
  EXPECT_EQ(again.rewrites, 0);
  return static_cast<int64_t>(model->graph().nodes().size());
}

TEST(ModelSet, TwoExportsOfOneNetworkSimplifyAlike) {
  const auto plain = cached_model("mobilenet_v2"), raw = cached_model("mobilenet_v2_raw");
  if (plain.empty() || raw.empty()) GTEST_SKIP() << kNoModels;
  EXPECT_LE(nodes_simplified(raw), nodes_simplified(plain));
}

INSTANTIATE_TEST_SUITE_P(All, ModelSetFolds,
                         ::testing::Values(Expected{"resnet18", 20, 20, 20}, Expected{"resnet18_external", 20, 20, 20},
                                           Expected{"resnet50", 53, 53, 53}, Expected{"resnext50_32x4d", 53, 53, 53},
                                           Expected{"mobilenet_v2", 52, 52, 52}, Expected{"mobilenet_v2_raw", 52, 52, 52},
                                           Expected{"mnasnet1_0", 52, 52, 52}, Expected{"mobilenet_v3_small", 34, 34, 52},
                                           Expected{"shufflenet_v2_x0_5", 56, 56, 56}, Expected{"shufflenet_v2_x0_5_raw", 56, 56, 56},
                                           Expected{"shufflenet_v2_x1_0", 56, 56, 56}, Expected{"googlenet", 57, 57, 57},
                                           Expected{"inception_v3", 94, 94, 94}, Expected{"unet2d", 17, 17, 18},
                                           Expected{"unet3d", 17, 17, 18}, Expected{"r3d_18", 20, 20, 20},
                                           Expected{"densenet121", 59, 121, 120}, Expected{"squeezenet1_1", 0, 0, 26}),
                         [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace relayout::test
