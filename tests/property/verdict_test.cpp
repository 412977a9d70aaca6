// Random networks whose samples differ in scale by up to twelve orders of magnitude: a correct fold is the same, and one percent on any
// linear layer is different, in every sample and layer.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "relayout/verify.h"
#include "support/network.h"
#include "support/random_network.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

constexpr uint64_t kSeeds = 1000;
constexpr uint64_t kParts = 8;  ///< tests that share them, to run several at a time

struct Subject {
  Network network;
  std::vector<std::string> weights;  ///< of its linear layers
  std::string normalized;            ///< output of its last BatchNormalization
};

/// Convolutions with normalizations, activations, powers and residuals downstream of a factor of 1e-6 … 1e6, and a head of 1 to 40 classes.
Subject subject(uint64_t seed) {
  Dice dice(seed, "verdict");
  Subject out{Network(seed), {}, {}};
  Network& n = out.network;
  const int64_t channels = dice.from(3, 8), classes = dice.pick<int64_t>({1, 2, 3, 10, 40});
  n.input("x", {"N", "3", "8", "8"}).output("y", {"N", std::to_string(classes)});
  n.floats("factor", {}, {static_cast<float>(std::pow(10, dice.uniform(-6, 6)))}).node("Mul", {"x", "factor"}, {"v0"});
  int64_t width = 3;
  std::string value = "v0";
  const int64_t depth = dice.from(1, 4);
  for (int64_t i = 1; i <= depth; ++i) {
    const std::string at = std::to_string(i), made = "v" + at;
    n.convolution("c" + at, value, "c" + at + ".y", {channels, width, 3, 3}, {"pads=1,1,1,1"});
    out.weights.push_back("c" + at + ".w");
    std::string result = "c" + at + ".y";
    if (i == depth || dice.one_in(2)) {
      n.batch_norm("n" + at, result, "n" + at + ".y", channels);
      result = out.normalized = "n" + at + ".y";
    }
    const std::string activation = dice.pick<std::string>({"Relu", "LeakyRelu", "HardSwish", "Tanh", "Identity", "Pow", "Abs"});
    if (activation == "Pow") {
      n.floats("power" + at, {}, {static_cast<float>(dice.from(2, 3))}).node("Pow", {result, "power" + at}, {made});
    } else if (activation == "Identity" && width == channels && i > 1) {
      n.node("Add", {result, value}, {made});
    } else {
      n.node(activation, {result}, {made});
    }
    width = channels;
    value = made;
  }
  n.node("GlobalAveragePool", {value}, {"g"}), n.node("Flatten", {"g"}, {"flat"});
  n.normal("fc.w", {classes, channels}, 0.4).normal("fc.b", {classes}, 0.1);
  n.node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"}, {"transB=1"});
  out.weights.emplace_back("fc.w");
  return out;
}

VerifyResult judged(const TemporaryFolder& folder, Network a, Network b) {
  const auto write = [&](const char* name, Network& network) {
    const std::filesystem::path path = folder.path() / name;
    std::ofstream(path, std::ios::binary) << network.bytes();
    return path;
  };
  VerifyOptions options;
  options.threads = 1;
  return verify(write("a.onnx", a), write("b.onnx", b), options);
}

std::string describe(const VerifyResult& result) {
  std::string out = std::string(to_string(result.outcome)) + " " + result.reason + " " + result.defect;
  for (const OutputComparison& output : result.outputs) out += "; " + output.name + ": " + output.reason;
  for (const std::string& remark : result.remarks) out += "; " + remark;
  return out;
}

class Verdict : public testing::TestWithParam<uint64_t> {};

TEST_P(Verdict, OfFoldsAndOfOnePercentOnALayer) {
  const TemporaryFolder folder;
  for (uint64_t seed = GetParam(); seed < kSeeds; seed += kParts) {
    const Subject original = subject(seed);
    Network folded = original.network;
    fold_batch_norm(folded, original.normalized, {.in_float = seed % 2 == 0});
    const VerifyResult right = judged(folder, original.network, folded);
    ASSERT_EQ(exit_code(right, false), 0) << "seed " << seed << ": " << describe(right);
    Dice dice(seed, "fault");
    const std::string weight = dice.pick(original.weights);
    Network wrong = seed % 3 == 0 ? original.network : folded;
    wrong.edit(weight, [](auto& values) {
      for (float& value : values) value *= 1.01F;
    });
    const VerifyResult caught = judged(folder, original.network, wrong);
    ASSERT_EQ(caught.outcome, Outcome::different) << "seed " << seed << ", " << weight << ": " << describe(caught);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Verdict, testing::Range<uint64_t>(0, kParts));

}  // namespace
}  // namespace relayout::test
