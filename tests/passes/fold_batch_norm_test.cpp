
#include "base/half.h"
#include "relayout/findings.h"
#include "relayout/types.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"

namespace relayout::test {
namespace {

// BatchNormalization downstream of a convolution

TEST(FoldBatchNorm, F1NoBias) {
  const auto result =
      expect_rewrite(kFoldBatchNorm, conv_bn("c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)").edit([](onnx::ModelProto& m) {
        m.mutable_graph()->mutable_initializer()->DeleteSubrange(1, 1);  // B
      }),
                     "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] B> { y = Conv (x, W, B) }");
  EXPECT_NE(result.model->graph().find("W"), nullptr) << "the weight keeps its name";
  EXPECT_NE(result.model->graph().find("W.bias"), nullptr);
}

TEST(FoldBatchNorm, F2WithBias) {
  expect_rewrite(kFoldBatchNorm, conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)"),
                 "g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] B> { y = Conv (x, W, B) }");
  expect_fold("g (float[2,3,9] x) => (float[2,4,7] y) <float[4,3,3] W, float[4] B, " + parameters(4) +
                  "> { c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var) }",
              1);
  expect_fold("g (float[2,3,4,5,6] x) => (float[2,4,3,3,5] y) <float[4,3,2,3,2] W, " + parameters(4) +
                  "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F2WeightsAndBiasAreRoundedOnce) {
  const TextModel before = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)");
  const auto result = run({kFoldBatchNorm}, before);
  const auto w = old_values(before, "W");
  const auto bias = old_values(before, "B");
  const auto mean = old_values(before, "m");
  const auto shift = old_values(before, "b");
  for (std::size_t o = 0; o < 4; ++o) {
    const double a = factor_of(before, o);
    for (std::size_t i = 0; i < 27; ++i)
      EXPECT_EQ(result.initializer("W")[o * 27 + i], static_cast<double>(static_cast<float>(w[o * 27 + i] * a)));
    EXPECT_EQ(result.initializer("B")[o], static_cast<double>(static_cast<float>(a * (bias[o] - mean[o]) + shift[o])));
  }
}

TEST(FoldBatchNorm, F3Groups) {
  expect_fold("g (float[2,6,5,5] x) => (float[2,12,3,3] y) <float[12,2,3,3] W, float[12] B, " + parameters(12) +
                  "> { c = Conv <group = 3> (x, W, B)  y = BatchNormalization (c, s, b, m, var) }",
              1);
  expect_fold("g (float[2,6,5,5] x) => (float[2,6,3,3] y) <float[6,1,3,3] W, " + parameters(6) +
                  "> { c = Conv <group = 6> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
  expect_fold("g (float[2,3,5,5] x) => (float[2,6,3,3] y) <float[6,1,3,3] W, " + parameters(6) +
                  "> { c = Conv <group = 3> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F4EmptyBias) {
  const TextModel before("g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, " + parameters(4) +
                         "> { c = Conv (x, W, )  y = BatchNormalization (c, s, b, m, var) }");
  ASSERT_EQ(before.message().graph().node(0).input_size(), 3);
  EXPECT_EQ(expect_fold(before, 1).model->graph().nodes().front().inputs().size(), 3U);
}

TEST(FoldBatchNorm, F5PadsStridesDilations) {
  expect_fold("g (float[2,3,9,9] x) => (float[2,4,5,8] y) <float[4,3,3,3] W, " + parameters(4) +
                  "> { c = Conv <pads = [1,0,2,1], strides = [2,1], dilations = [1,1]> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F6AutoPad) {
  expect_fold(R"(g (float[2,3,5,6] x) => (float[2,4,5,6] y) <float[4,3,3,3] W, )" + parameters(4) +
                  R"(> { c = Conv <auto_pad = "SAME_UPPER"> (x, W)  y = BatchNormalization (c, s, b, m, var) })",
              1);
}

TEST(FoldBatchNorm, F7ConvTranspose) {
  expect_fold("g (float[2,4,3,3] x) => (float[2,4,5,5] y) <float[4,4,3,3] W, " + parameters(4) +
                  "> { c = ConvTranspose (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F8ConvTransposeGroups) {
  const TextModel before("g (float[2,6,3,3] x) => (float[2,10,5,4] y) <float[6,5,3,2] W, float[10] B, " + parameters(10) +
                         "> { c = ConvTranspose <group = 2> (x, W, B)  y = BatchNormalization (c, s, b, m, var) }");
  const auto result = expect_fold(before, 1);
  const auto w = old_values(before, "W");
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const double a = factor_of(before, i / 3 * 5 + j);
      for (std::size_t k = 0; k < 6; ++k) {
        const std::size_t at = (i * 5 + j) * 6 + k;
        EXPECT_EQ(result.initializer("W")[at], static_cast<double>(static_cast<float>(w[at] * a)));
      }
    }
  }
}

TEST(FoldBatchNorm, F9DepthwiseConvTranspose) {
  expect_fold("g (float[2,6,3,3] x) => (float[2,6,5,4] y) <float[6,1,3,2] W, " + parameters(6) +
                  "> { c = ConvTranspose <group = 6> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F10ConvTransposeOtherRanks) {
  expect_fold("g (float[2,3,5] x) => (float[2,4,12] y) <float[3,4,3] W, " + parameters(4) +
                  "> { c = ConvTranspose <strides = [2], output_padding = [1]> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
  expect_fold("g (float[1,3,2,3,2] x) => (float[1,4,5,6,5] y) <float[3,4,3,3,3] W, " + parameters(4) +
                  "> { c = ConvTranspose <strides = [2,2,2], output_shape = [5,6,5]> (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F11OneChannel) {
  expect_fold("g (float[2,3,4,4] x) => (float[2,1,4,4] y) <float[1,3,1,1] W, " + parameters(1) +
                  "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var) }",
              1);
}

TEST(FoldBatchNorm, F12Epsilon) {
  for (const std::string attribute : {"", "<epsilon = 0.001>", "<epsilon = 0.0>"})
    expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization " + attribute + " (c, s, b, m, var)"), 1);
}

TEST(FoldBatchNorm, F13TwoInSequence) {
  const TextModel before =
      conv_bn("c = Conv (x, W, B)  d = BatchNormalization (c, s, b, m, var)  y = BatchNormalization <epsilon = 0.01> (d, s2, b2, m2, var2)",
              parameters(4, "2"));
  const auto result = expect_fold(before, 2);
  EXPECT_EQ(result.count("Conv"), 1);
  // Composed in double, rounded once at the end.
  const double a1 = factor_of(before, 1);
  const double a2 = old_values(before, "s2")[1] / std::sqrt(old_values(before, "var2")[1] + static_cast<double>(0.01F));
  const double b1 = a1 * (old_values(before, "B")[1] - old_values(before, "m")[1]) + old_values(before, "b")[1];
  EXPECT_EQ(result.initializer("W")[30], static_cast<double>(static_cast<float>(old_values(before, "W")[30] * (a1 * a2))));
  EXPECT_EQ(result.initializer("B")[1],
            static_cast<double>(static_cast<float>(a2 * (b1 - old_values(before, "m2")[1]) + old_values(before, "b2")[1])));
}

TEST(FoldBatchNorm, F14ResidualBlock) {
  const auto result = expect_fold("g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float[4,4,3,3] W, float[4,4,3,3] V, " + parameters(4) +
                                      ", " + parameters(4, "2") + R"(> {
    c = Conv <pads = [1,1,1,1]> (x, W)  d = BatchNormalization (c, s, b, m, var)  e = Relu (d)
    f = Conv <pads = [1,1,1,1]> (e, V)  h = BatchNormalization (f, s2, b2, m2, var2)
    k = Add (h, x)  y = Relu (k) })",
                                  2);
  EXPECT_EQ(result.count("Add"), 1);
}

TEST(FoldBatchNorm, F15OutputIsGraphOutputAndUsed) {
  expect_rewrite(
      kFoldBatchNorm,
      "g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[1,4,3,3] z) <float[4,4,3,3] W, " + parameters(4) +
          "> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)  z = Relu (y) }",
      "g (float[1,4,5,5] x) => (float[1,4,3,3] y, float[1,4,3,3] z) <float[4,4,3,3] W, float[4] B> { y = Conv (x, W, B)  z = Relu (y) }");
}

TEST(FoldBatchNorm, F16OutputCapturedByIf) {
  expect_fold("g (bool k, float[1,4,5,5] x) => (float[1,4,3,3] z) <float[4,4,3,3] W, " + parameters(4) +
                  R"(> { c = Conv (x, W)  y = BatchNormalization (c, s, b, m, var)
    z = If (k) <then_branch = t () => (float[1,4,3,3] p) { p = Relu (y) }, else_branch = e () => (float[1,4,3,3] q) { q = Abs (y) }> })",
              1);
}

TEST(FoldBatchNorm, F18ZeroAndNegativeScale) {
  const TextModel before = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").set("s", {0, -1, -0.5, 2});
  const auto result = expect_fold(before, 1);
  EXPECT_EQ(result.initializer("B")[0], old_values(before, "b")[0]);
  for (std::size_t i = 0; i < 27; ++i) EXPECT_EQ(result.initializer("W")[i], 0.0);
}

TEST(FoldBatchNorm, F19Chain) {
  std::string body, listed;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    body += "c" + n + " = Conv (" + (i == 0 ? "x" : "y" + std::to_string(i - 1)) + ", W" + n + ")  " + (i == 39 ? "y" : "y" + n) +
            " = BatchNormalization (c" + n + ", s" + n + ", b" + n + ", m" + n + ", var" + n + ")  ";
    listed += (i == 0 ? "" : ", ") + std::string("float[2,2,1,1] W") + n + ", " + parameters(2, n);
  }
  expect_fold("g (float[1,2,2,2] x) => (float[1,2,2,2] y) <" + std::string(listed) + "> {" + body + "}", 40);
}

// Versions and modes

TEST(FoldBatchNorm, F20OldVersionsInInference) {
  const std::string old = "c = Conv (x, W, B)  y = BatchNormalization <is_test = 1, consumed_inputs = [0,0,0,1,1]> (c, s, b, m, var)";
  expect_fold(with_initializers_as_inputs(conv_bn(old, "", head(5))), 1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization <is_test = 1, spatial = 1> (c, s, b, m, var)", "", head(6)), 1);
}

TEST(FoldBatchNorm, F21TrainingInVersion6) {
  expect_skip(kFoldBatchNorm, conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(6)), Reason::training_mode);
}

TEST(FoldBatchNorm, F22PerActivation) {
  expect_skip(kFoldBatchNorm,
              "g (float[1,3,5,5] x) => (float[1,4,3,3] y) <float[4,3,3,3] W, float[4,3,3] s, float[4,3,3] b, float[4,3,3] m, float[4,3,3] "
              "var> { c = Conv (x, W)  y = BatchNormalization <spatial = 0> (c, s, b, m, var) }",
              Reason::per_activation);
}

TEST(FoldBatchNorm, F23PerActivationOfOnePosition) {
  expect_skip(kFoldBatchNorm,
              "g (float[1,3,3,3] x) => (float[1,4,1,1] y) <float[4,3,3,3] W, float[4,1,1] s, float[4,1,1] b, float[4,1,1] m, float[4,1,1] "
              "var> { c = Conv (x, W)  y = BatchNormalization <spatial = 0> (c, s, b, m, var) }",
              Reason::per_activation);
}

TEST(FoldBatchNorm, F24InferenceInVersion7And9) {
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization <spatial = 1> (c, s, b, m, var)", "", head(7)), 1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(8)), 1);
  for (const int opset : {9, 13}) {
    expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization <momentum = 0.5> (c, s, b, m, var)", "", head(opset)), 1);
    expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(opset)), 1);
  }
}

TEST(FoldBatchNorm, F25NamedExtraOutputsTrain) {
  for (const int opset : {7, 9, 13}) {
    expect_skip(kFoldBatchNorm, conv_bn("c = Conv (x, W, B)  y, mo, vo, sm, sv = BatchNormalization (c, s, b, m, var)", "", head(opset)),
                Reason::training_mode);
  }
  expect_skip(kFoldBatchNorm,
              "g (float[2,3,5,6] x) => (float[2,4,3,4] y, float[4] mo) <float[4,3,3,3] W, " + parameters(4) +
                  "> { c = Conv (x, W)  y, mo, vo, sm, sv = BatchNormalization (c, s, b, m, var) }",
              Reason::training_mode);
}

TEST(FoldBatchNorm, F26ExplicitInference) {
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(9)).edit([](onnx::ModelProto& m) {
    for (int i = 0; i < 4; ++i) m.mutable_graph()->mutable_node(1)->add_output("");
  }),
              1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization <training_mode = 0> (c, s, b, m, var)", "", head(14)), 1);
}

TEST(FoldBatchNorm, F27TrainingMode) {
  for (const int opset : {14, 15, 22}) {
    expect_skip(kFoldBatchNorm,
                conv_bn("c = Conv (x, W, B)  y, rm, rv = BatchNormalization <training_mode = 1> (c, s, b, m, var)", "", head(opset)),
                Reason::training_mode);
  }
}

TEST(FoldBatchNorm, F28DownstreamOfATrainingOne) {
  const auto result = expect_skip(kFoldBatchNorm,
                                  conv_bn("c = Conv (x, W, B)  d, rm, rv = BatchNormalization <training_mode = 1> (c, s, b, m, var)  y = "
                                          "BatchNormalization (d, s, b, m, var)"),
                                  Reason::training_mode);
  EXPECT_EQ(result.reasons().size(), 2U);
}

TEST(FoldBatchNorm, F29Float16) {
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").cast(DataType::float16), 1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").cast(DataType::float16).typed_data(), 1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").typed_data(), 1);
  expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").cast(DataType::float64).typed_data(), 1);
}

TEST(FoldBatchNorm, F30BFloat16) {
  const TextModel before =
      conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(22, 10)).cast(DataType::bfloat16);
  const auto result = expect_fold(before, 1);
  const double a = factor_of(before, 2);
  EXPECT_EQ(result.initializer("W")[60], static_cast<double>(bfloat16_to_float(double_to_bfloat16(old_values(before, "W")[60] * a))));
}

TEST(FoldBatchNorm, F31Double) {
  const TextModel before = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)").cast(DataType::float64);
  const auto result = expect_fold(before, 1);
  const double a = factor_of(before, 2);
  EXPECT_NEAR(result.initializer("W")[60] / (old_values(before, "W")[60] * a), 1.0, 1e-15);
}

TEST(FoldBatchNorm, F32MixedTypes) {
  const auto mixed = [](DataType data, DataType scale, DataType statistics, int opset) {
    TextModel model = conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(opset, 10)).cast(data);
    for (const char* const name : {"s", "b"}) model.cast_initializer(name, scale);
    for (const char* const name : {"m", "var"}) model.cast_initializer(name, statistics);
    return model;
  };
  using enum DataType;
  const auto type_of = [](const PassResult& result, const char* name) {
    return result.model->graph().find(name)->initializer()->data->type();
  };
  const auto result = expect_fold(mixed(float16, float32, float32, 15), 1);
  EXPECT_EQ(type_of(result, "W"), float16);
  EXPECT_EQ(type_of(result, "B"), float16);
  expect_fold(mixed(float16, float16, float32, 14), 1);
  expect_fold(mixed(bfloat16, bfloat16, float32, 22), 1);
  expect_fold(mixed(float32, float32, float64, 15), 1);
}

TEST(FoldBatchNorm, F32OtherOpsets) {
  for (const int opset : {8, 12, 22})
    expect_fold(conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", head(opset)), 1);
}

TEST(FoldBatchNorm, F33Domains) {
  expect_fold(
      conv_bn("c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)", "", R"(<ir_version: 8, opset_import: ["ai.onnx" : 17]>)")
          .edit([](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_domain("ai.onnx"); }),
      1);
  expect_skip(kFoldBatchNorm,
              conv_bn("c = Conv (x, W, B)  y = other.BatchNormalization (c, s, b, m, var)", "",
                      R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>)"),
              Reason::unknown_op_between);
}

}  // namespace
}  // namespace relayout::test
