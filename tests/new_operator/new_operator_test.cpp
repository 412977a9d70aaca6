// Tests that one line of the op table and a kernel are all that an operator needs: conversion, proof, runs, profiles and layouts follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/convert.h"
#include "relayout/inspect.h"
#include "relayout/layout.h"
#include "relayout/profile.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

const std::string kDims = "g (float[1,8,16,16] x) => (float[1,8,16,16] y) ";
const std::string kWeights = "<float[8,8,3,3] W, float[8,8,3,3] V, float[8] gamma, float[8] beta, float[8] mean, float[8] variance> ";
/// A BatchNormalization to fold, and the new operator between two convolutions.
const std::string kNodes =
    "{ a = Conv <pads = [1,1,1,1]> (x, W) n = BatchNormalization (a, gamma, beta, mean, variance) t = Twice (n) "
    "y = Conv <pads = [1,1,1,1]> (t, V) }";

class NewOperator : public testing::Test {
 protected:
  fs::path save(const std::string& name, const std::string& nodes) {
    write_file(folder_ / name, TextModel(kDims + kWeights + nodes).name_nodes().bytes());
    return folder_ / name;
  }
  TemporaryFolder folder_;
};

TEST_F(NewOperator, IsConvertedAndProved) {
  const fs::path model = save("a.onnx", kNodes), result = folder_ / "b.onnx";
  const ConvertResult converted = convert(model, result, {});
  EXPECT_TRUE(converted.all_folded);
  EXPECT_EQ(converted.nodes_before, 4);
  const VerifyResult verdict = verify(model, result, {});
  EXPECT_EQ(verdict.outcome, Outcome::same) << verdict.reason;
  ASSERT_TRUE(verdict.proof);
  EXPECT_TRUE(verdict.proof->proved);
}

TEST_F(NewOperator, IsComputedWhereNothingIsProved) {
  const auto compared = [&](const std::string& doubled) {
    const fs::path a = save("a.onnx", "{ t = Twice (x) y = Relu (t) }"), b = save("b.onnx", "{ " + doubled + " y = Relu (t) }");
    return verify(a, b, {}).outcome;
  };
  EXPECT_EQ(compared("t = Add (x, x)"), Outcome::same);
  EXPECT_EQ(compared("s = Add (x, x) t = Add (s, x)"), Outcome::different);
}

TEST_F(NewOperator, HasARowOfAProfile) {
  const fs::path model = save("a.onnx", kNodes);
  for (const Mode mode : {Mode::optimized, Mode::as_written, Mode::reference}) {
    ProfileOptions options;
    options.repeat = 4;
    options.threads = 1;
    options.mode = mode;
    const Profile profiled = profile(model, options);
    EXPECT_TRUE(std::ranges::any_of(profiled.rows, [](const ProfileRow& row) { return row.op_type == "Twice"; }));
  }
}

TEST_F(NewOperator, KeepsTheLayoutOfTheConvolutionsAroundIt) {
  const fs::path model = save("a.onnx", kNodes);
  InspectOptions options;
  options.layout = LayoutRequest{.choice = LayoutChoice::always};
  const InspectResult result = inspect(model, options);
  EXPECT_TRUE(result.unknown_ops.empty());
  ASSERT_TRUE(result.layout);
  const auto& tensors = result.layout->tensors;
  const auto result_of_twice = std::ranges::find(tensors, "t", &TensorLayout::name);
  ASSERT_NE(result_of_twice, tensors.end());
  EXPECT_EQ(result_of_twice->layout, "channels-last");
}

}  // namespace
}  // namespace relayout::test
