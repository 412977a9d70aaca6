#include <gmock/gmock.h>

#include "model/node.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using ::testing::HasSubstr;

TEST(PassTable, FindsByName) {
  for (const passes::Pass& pass : passes::pass_table()) EXPECT_EQ(passes::find_pass(pass.name), &pass);
  EXPECT_EQ(passes::find_pass("no-such-pass"), nullptr);
}

TEST(PassTable, RunsInItsOwnOrder) {
  const TextModel model = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)");
  EXPECT_TRUE(run({"conv-weights-layout", "fold-batch-norm"}, model).bytes == run({"fold-batch-norm", "conv-weights-layout"}, model).bytes);
}

TEST(PassTable, NoPassIsIdentity) {
  const TextModel model = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)");
  EXPECT_TRUE(run({}, model).bytes == model.bytes());
}

TEST(PassTable, OptionsSelectPasses) {
  const auto names = [](const PassOptions& options) {
    std::string out;
    for (const passes::Pass& pass : passes::pass_table()) out += pass.wanted(options) ? std::string(pass.name) + " " : "";
    return out;
  };
  PassOptions options;
  EXPECT_EQ(names(options), "remove-unused inline-functions fold-batch-norm fold-affine conv-weights-layout ");
  options.fold = false;
  options.layout = WeightsLayout::keep;
  EXPECT_EQ(names(options), "remove-unused inline-functions ");
  options.simplify = true;
  EXPECT_EQ(names(options),
            "inline-branches inline-loops remove-unused inline-functions remove-identity split-sequences default-operands fold-constants "
            "reshape-requests merge-slices merge-pairs merge-equal "
            "merge-quotients product-bias ");
  options.simplify = false;
  options.layout = WeightsLayout::contiguous;
  EXPECT_EQ(names(options), "remove-unused inline-functions conv-weights-layout export-io export-transposes ");
  options.layout = WeightsLayout::keep;
  options.export_io = true;
  options.precision = DataType::float16;
  EXPECT_EQ(names(options), "remove-unused inline-functions precision export-io ");
  options.bytes.names = {"x"};
  EXPECT_EQ(names(options), "remove-unused inline-functions byte-input precision export-io ");
  options.output_bytes.names = {"y"};
  EXPECT_EQ(names(options), "remove-unused inline-functions byte-input byte-output precision export-io ");
  options.export_io = false;
  options.undo_io = true;
  EXPECT_EQ(names(options), "remove-unused inline-functions undo-io precision ");
  options.narrow_integers = true;
  EXPECT_EQ(names(options), "remove-unused inline-functions undo-io precision narrow-integers ");
}

TEST(RewriteDriver, ErrorsNamePassAndNode) {
  try {
    static_cast<void>(
        run(kFolds,
            TextModel(
                "g (float[1,4,5,5] x) => (float[1,4,3,3] y) <float[4,4,3,3] W, " + parameters(4) +
                ", float[1,3] m3, int64[1] n = {-1}> { r = Reshape (m3, n)  c = Conv (x, W)  y = BatchNormalization (c, s, b, r, var) }")));
    FAIL() << "a mean of three elements for four channels";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("fold-batch-norm at node"));
    EXPECT_THAT(error.what(), HasSubstr("'y' (BatchNormalization)"));
  }
}

TEST(RewriteDriver, F142Globs) {
  const auto model = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").rename("y", "block1/out").load();
  const Node& node = model->graph().nodes().back();
  EXPECT_EQ(reported_name(node), "block1/out");
  EXPECT_TRUE(is_called(node, "block1/out"));
  EXPECT_FALSE(is_called(node, "block1"));
  PassOptions options;
  EXPECT_FALSE(passes::is_excluded(node, options));
  options.only = {"block2/*"};
  EXPECT_TRUE(passes::is_excluded(node, options));
  options.only = {"block2/*", "block1/*"};
  EXPECT_FALSE(passes::is_excluded(node, options));
  options.exclude = {"*out"};
  EXPECT_TRUE(passes::is_excluded(node, options)) << "exclude wins";
}

}  // namespace
}  // namespace relayout::test
