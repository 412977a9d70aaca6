// Tests passes that rename inputs, outputs and dims, store equal weights once, and replace weights.
#include <gmock/gmock.h>

#include <cmath>

#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

PassResult renamed(const TextModel& model, const std::map<std::string, std::string>& names) {
  PassOptions options;
  options.renames = names;
  return run({"rename"}, model, options);
}

const char* const kBranches =
    "g (float[N,2] x, bool c) => (float[N,2] y, float[N,2] z) { z = Relu (x)  y = If (c) <then_branch = a () => (float[N,2] t) { t = Neg "
    "(x) "
    "}, else_branch = b () => (float[N,2] e) { e = Add (x, z) }> }";

TEST(Rename, ReachesNestedGraphs) {
  const PassResult result = renamed(kBranches, {{"x", "images"}, {"z", "scores"}, {"N", "batch"}});
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("float[batch,2] images"));
  EXPECT_THAT(text, HasSubstr("Neg (images)"));
  EXPECT_THAT(text, HasSubstr("Add (images, scores)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("[N,")));
  EXPECT_EQ(result.findings.size(), 3U);
  // Twice is once, and back is the original.
  EXPECT_TRUE(renamed(TextModel::of(result.bytes), {{"x", "images"}, {"z", "scores"}, {"N", "batch"}}).bytes == result.bytes);
  EXPECT_TRUE(renamed(TextModel::of(result.bytes), {{"images", "x"}, {"scores", "z"}, {"batch", "N"}}).bytes ==
              TextModel(kBranches).bytes());
}

TEST(Rename, ExchangesNames) {
  const PassResult result = renamed("g (float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }", {{"a", "b"}, {"b", "a"}});
  EXPECT_THAT(to_text(*result.model), HasSubstr("Sub (b, a)"));
}

TEST(Rename, RefusesNamesInUse) {
  const auto kind = [](const std::map<std::string, std::string>& names) {
    try {
      (void)renamed(kBranches, names);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::defect;
  };
  EXPECT_EQ(kind({{"x", "z"}}), ErrorKind::unsupported);
  EXPECT_EQ(kind({{"x", "t"}}), ErrorKind::unsupported);  // of a nested graph
  EXPECT_EQ(kind({{"x", "q"}, {"z", "q"}}), ErrorKind::unsupported);
  EXPECT_EQ(kind({{"nothing", "q"}}), ErrorKind::usage);
  EXPECT_EQ(kind({{"t", "q"}}), ErrorKind::usage);  // no caller sees it
}

TEST(ShareWeights, KeepsOneOfEqualInitializers) {
  TextModel model =
      "g (float[2,3] x) => (float[2,3] y) <float[3,3] W, float[3,3] V, float[3,3] U, float[9] flat, int64[2] t = {3, 3}, int64[2] s = {3, "
      "3}> "
      "{ a = MatMul (x, W)  b = MatMul (a, V)  c = MatMul (b, U)  f = Reshape (flat, t)  d = MatMul (c, f)  g = Reshape (flat, s) "
      "  y = MatMul (d, g) }";
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  model.set("W", values).set("V", values).set("flat", values);
  PassOptions options;
  options.share_weights = true;
  const PassResult result = run({"share-weights"}, model, options);
  expect_same(model, result, {"share-weights"}, options);
  EXPECT_EQ(result.findings.size(), 2U) << result.details();
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("MatMul (a, W)"));
  EXPECT_THAT(text, HasSubstr("MatMul (b, U)"));
  EXPECT_THAT(text, HasSubstr("Reshape (flat, t)"));
}

TEST(Scramble, KeepsMeanAndSpread) {
  const TextModel model =
      "g (float[1,8] x) => (float[1,64] y) <float[8,64] W, float[64] var_b, float one = {1}, int64[2] t = {1, 8}> "
      "{ r = Reshape (x, t)  m = MatMul (r, W)  a = Add (m, var_b)  y = Mul (a, one) }";
  PassOptions options;
  options.scramble = 7;
  const PassResult result = run({"scramble"}, model, options), again = run({"scramble"}, model, options);
  EXPECT_TRUE(result.bytes == again.bytes);
  EXPECT_EQ(result.findings.size(), 2U);
  const std::vector<double> before = run({"remove-unused"}, model).initializer("W"), after = result.initializer("W");
  const auto moments = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(values.size());
    return std::pair(mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean));
  };
  EXPECT_NE(before, after);
  EXPECT_NEAR(moments(before).first, moments(after).first, 0.2 * moments(before).second);
  EXPECT_NEAR(moments(after).second / moments(before).second, 1, 0.2);
  for (const double variance : result.initializer("var_b")) EXPECT_GT(variance, 0);
  options.scramble = 8;
  EXPECT_FALSE(run({"scramble"}, model, options).bytes == result.bytes);
}

}  // namespace
}  // namespace relayout::test
