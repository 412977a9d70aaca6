
#include <fstream>
#include <iostream>

#include "base/random.h"
#include "relayout/convert.h"
#include "relayout/proof.h"
#include "support/many.h"
#include "support/model_cache.h"
#include "support/proof_example.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

struct Expected {
  const char* name;
  int64_t folds;
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.name;
}

std::filesystem::path converted(const std::filesystem::path& model, const TemporaryFolder& folder) {
  const std::filesystem::path out = folder / "converted.onnx";
  (void)convert(model, out, {});
  return out;
}

class ProofOfModels : public testing::TestWithParam<Expected> {};
// BatchNormalizations that fold, counted from the exports themselves.
INSTANTIATE_TEST_SUITE_P(Cached, ProofOfModels,
                         testing::Values(Expected{"resnet18", 20}, Expected{"resnet18_external", 20}, Expected{"resnet50", 53},
                                         Expected{"resnext50_32x4d", 53}, Expected{"mobilenet_v2", 52}, Expected{"mobilenet_v2_raw", 52},
                                         Expected{"mnasnet1_0", 52}, Expected{"mobilenet_v3_small", 34}, Expected{"shufflenet_v2_x0_5", 56},
                                         Expected{"shufflenet_v2_x0_5_raw", 56}, Expected{"shufflenet_v2_x1_0", 56},
                                         Expected{"googlenet", 57}, Expected{"inception_v3", 94}, Expected{"unet2d", 17},
                                         Expected{"unet3d", 17}, Expected{"r3d_18", 20}, Expected{"densenet121", 59},
                                         Expected{"squeezenet1_1", 0}),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

TEST_P(ProofOfModels, ConversionIsProved) {
  const std::filesystem::path path = cached_model(GetParam().name);
  if (path.empty()) GTEST_SKIP() << kNoModels;
  const TemporaryFolder folder;
  const auto model = Model::load(path);
  const auto result = relayout::prove(*model, *Model::load(converted(path, folder)));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, GetParam().folds);
  std::cout << GetParam().name << ": " << result.folds << " folds of " << result.folded_nodes << " nodes, " << result.permutations
            << " permutations, " << result.tensors_equal << " tensors equal, " << result.nodes_equal << " nodes equal, "
            << result.nodes_bypassed << " bypassed, " << result.nodes_evaluated << " evaluated, " << result.nodes_dead << " dead\n";
}

TEST(ProofOfModel, OneBitOfAnyTensorIsNamed) {
  const std::filesystem::path path = cached_model("mobilenet_v3_small");
  if (path.empty()) GTEST_SKIP() << kNoModels;
  const TemporaryFolder folder;
  const auto model = Model::load(path);
  const std::filesystem::path right = converted(path, folder);
  onnx::ModelProto message;
  {
    std::ifstream in(right, std::ios::binary);
    ASSERT_TRUE(message.ParseFromIstream(&in));
  }
  const RandomStream random(11, "bits");
  for (int i = 0; i < message.graph().initializer_size(); i += 3) {
    onnx::TensorProto& tensor = *message.mutable_graph()->mutable_initializer(i);
    const std::size_t at = random.below(static_cast<uint64_t>(i), tensor.raw_data().size() / sizeof(float)) * sizeof(float);
    char& byte = (*tensor.mutable_raw_data())[at];
    byte ^= 1;
    ProofOptions options;
    options.digests = false;
    const auto result = relayout::prove(*model, *Model::from_bytes(message.SerializeAsString()), options);
    EXPECT_FALSE(result.proved && result.near_folds == 0) << tensor.name();
    if (result.near_folds == 1 && result.proved) {
      // The last bit of a folded number may differ if the fold was evaluated in float32.
      EXPECT_LE(result.near_ulp, 1.6) << tensor.name();
      byte ^= 1;
      continue;
    }
    ASSERT_EQ(result.unexplained.size(), 1U) << tensor.name() << is_proved(result).message();
    EXPECT_EQ(result.unexplained[0].values, 1) << tensor.name();
    EXPECT_TRUE(tensor.name().starts_with(result.unexplained[0].name)) << tensor.name() << " " << result.unexplained[0].name;
    byte ^= 1;
  }
}

TEST(ProofOfModel, AnotherModelIsNoConversion) {
  const std::filesystem::path a = cached_model("resnet18");
  const std::filesystem::path b = cached_model("googlenet");
  if (a.empty() || b.empty()) GTEST_SKIP() << kNoModels;
  ProofOptions options;
  options.digests = false;
  const auto result = relayout::prove(*Model::load(a), *Model::load(b), options);
  EXPECT_FALSE(result.proved);
  EXPECT_LT(result.unexplained.size(), 1000U);
}

/// A chain of Conv 1×1 and BatchNormalization, folded or not.
Example chain(int length, bool folded) {
  std::string text = "g (float[1,1,1,1] v0) => (float[1,1,1,1] v" + std::to_string(length) + ") { ";
  for (int i = 0; i < length; ++i) {
    const std::string in = "v" + std::to_string(i);
    const std::string out = "v" + std::to_string(i + 1);
    text += folded ? out + " = Conv (" + in + ", f, b) "
                   : "c" + std::to_string(i) + " = Conv (" + in + ", w) " + out + " = BatchNormalization (c" + std::to_string(i) +
                         ", bn_scale, bn_bias, bn_mean, bn_var) ";
  }
  Example model(text + "}");
  const BatchNorm bn("bn", 1);
  const Array w = normal("w", {1, 1, 1, 1});
  if (!folded) return model.add("w", w).add("bn", bn);
  return model.add("f", {w.type, w.dims, {rounded(bn.factor(0) * w[0], w.type)}}).add("b", {w.type, {1}, {rounded(bn.shift(0), w.type)}});
}

TEST(ProofOfModel, F19LongChains) {
  const ProofResult result = prove(chain(kMany / 5, false), chain(kMany / 5, true));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.folds, kMany / 5);
}

}  // namespace
}  // namespace relayout::test
