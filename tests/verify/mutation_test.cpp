// Tests wrong conversions that verify must catch, and right ones that it must let pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mutations.h"
#include "narrow.h"
#include "networks.h"
#include "relayout/convert.h"
#include "relayout/layout.h"
#include "relayout/verify.h"
#include "rewrites.h"
#include "support/network.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

struct NamedNetwork {
  const char* name;
  Make make;
};
const std::vector<NamedNetwork> kNetworks{
    {"Classifier", classifier},
    {"Mobile", mobile},
    {"Segmenter", segmenter},
    {"Volumes", volumes},
    {"Lines", lines},
    {"Transformer", transformer},
    {"Decisions", decisions},
    {"Shuffled", shuffled},
    {"Preactivated", preactivated},
    {"Recurrent", recurrent},
    {"Patches", patches},
    {"Statistics", statistics},
    {"Detector", detector},
    {"Probabilities", probabilities},
};

/// Ways to call convert.
struct OptionSet {
  const char* name;
  void (*set)(ConvertOptions& options);
};
const std::vector<OptionSet> kOptionSets{
    {"Default", [](ConvertOptions&) {}},
    {"KeepLayout", [](ConvertOptions& o) { o.rewrite.layout = WeightsLayout::keep; }},
    {"NoFold", [](ConvertOptions& o) { o.rewrite.fold = false; }},
    {"Simplify", [](ConvertOptions& o) { o.rewrite.simplify = true; }},
    {"Include1d", [](ConvertOptions& o) { o.rewrite.include_1d = true; }},
    {"BatchNormalizationsAlone", [](ConvertOptions& o) { o.skip = {"fold-affine"}; }},
    {"IoNhwc", [](ConvertOptions& o) { o.rewrite.export_io = true; }},
    {"Transposes",
     [](ConvertOptions& o) {
       o.rewrite.export_transposes = true;
       o.rewrite.choice = LayoutChoice::always;
     }},
    {"SimplifyTransposes",
     [](ConvertOptions& o) {
       o.rewrite.simplify = true;
       o.rewrite.export_transposes = true;
       o.rewrite.choice = LayoutChoice::always;
     }},
};

/// A right conversion: either a rewrite, or the result of convert under an option set.
struct RightCase {
  const NamedNetwork* network = nullptr;
  const Rewrite* rewrite = nullptr;
  const OptionSet* options = nullptr;
  [[nodiscard]] std::string name() const { return network->name + std::string(rewrite != nullptr ? rewrite->name : options->name); }
};

void PrintTo(const RightCase& one, std::ostream* out) {
  *out << one.name();
}

/// Every rewrite of every network that it changes, and every option set on every network.
std::vector<RightCase> right_cases() {
  std::vector<RightCase> out;
  for (const NamedNetwork& network : kNetworks) {
    for (const Rewrite& rewrite : kRewrites) {
      Network a = network.make(1), b = a;
      rewrite.change(b);
      if (b.bytes() != a.bytes() || &rewrite == &kRewrites.front()) out.push_back({&network, &rewrite, nullptr});
    }
    for (const OptionSet& options : kOptionSets) out.push_back({&network, nullptr, &options});
  }
  return out;
}

VerifyResult verified_conversion(const Network& network, const OptionSet& set) {
  const Folder folder;
  Network a = network;
  const auto from = folder.write("a.onnx", a.bytes());
  ConvertOptions options;
  options.threads = 1;
  set.set(options);
  (void)convert(from, folder.path() / "b.onnx", options);
  VerifyOptions how;
  how.threads = 1;
  how.run_identical = true;
  how.images_last = options.rewrite.export_io;
  return verify(from, folder.path() / "b.onnx", how);
}

VerifyResult verified_rewrite(const Network& network, Change change, int narrow_to = 0) {
  Network b = network;
  change(b);
  VerifyOptions options;
  options.run_identical = true;
  if (narrow_to == 0) return verified(network, b, options);
  return verified(narrowed(network, narrow_to), narrowed(b, narrow_to), options);
}

void expect_caught(const Case& one, uint64_t seed) {
  const Network a = one.make(seed);
  Network b = a;
  one.change(b);
  const VerifyResult result = verified(a, b);
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_EQ(exit_code(result, false), 1) << summary(result);
}

void expect_passed(const RightCase& one, uint64_t seed) {
  const Network a = one.network->make(seed);
  const VerifyResult result = one.rewrite != nullptr ? verified_rewrite(a, one.rewrite->change) : verified_conversion(a, *one.options);
  EXPECT_EQ(result.outcome, Outcome::same) << summary(result);
  EXPECT_EQ(result.defect, "") << summary(result);
}

class WrongConversion : public ::testing::TestWithParam<Case> {};
TEST_P(WrongConversion, IsCaught) {
  expect_caught(GetParam(), 1);
}

class RightConversion : public ::testing::TestWithParam<RightCase> {};
TEST_P(RightConversion, Passes) {
  expect_passed(GetParam(), 1);
}

TEST(Conversions, AreAsManyAsPromised) {
  EXPECT_GE(kWrong.size(), 60U);
  EXPECT_GE(right_cases().size(), 200U);
}

/// Also in 16 bits: nodes are compared one by one there, and right ones must not look wrong.
class RightNarrowConversion : public ::testing::TestWithParam<RightCase> {};
TEST_P(RightNarrowConversion, Passes) {
  for (const int type : {onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16}) {
    const VerifyResult result = verified_rewrite(GetParam().network->make(1), GetParam().rewrite->change, type);
    EXPECT_NE(result.outcome, Outcome::different) << summary(result);
    EXPECT_EQ(result.defect, "") << summary(result);
  }
}

/// An error in 16 bits is caught, or is below the resolution of 16 bits: then the proof names the unexplained change.
class WrongNarrowConversion : public ::testing::TestWithParam<Case> {};
TEST_P(WrongNarrowConversion, IsCaughtOrNamed) {
  for (const int type : {onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16}) {
    const Network a = GetParam().make(1);
    Network b = a;
    GetParam().change(b);
    const VerifyResult result = verified(narrowed(a, type), narrowed(b, type));
    const bool named = result.proof && !result.proof->unexplained.empty();
    EXPECT_TRUE(result.outcome == Outcome::different || result.identical || named) << summary(result);
  }
}

/// These rewrites hold values in attributes, typed fields or double, and have no 16-bit twin here.
std::vector<RightCase> right_narrow_cases() {
  std::vector<RightCase> out = right_cases();
  std::erase_if(out, [](const RightCase& one) {
    if (one.rewrite == nullptr) return true;
    const std::string_view name = one.rewrite->name;
    return name == "Constants" || name == "TypedData" || name == "V25OneUlpEverywhere" || name == "WeightsInDouble";
  });
  return out;
}

/// In bf16, 1.001 is 1, and an epsilon of 0.001 under variances around 1 is no more than a rounding of the weights.
std::vector<Case> wrong_narrow_cases() {
  std::vector<Case> out = kWrong;
  std::erase_if(out, [](const Case& one) {
    const std::string_view name = one.name;
    return name == "V27OutputTimes1_001" || name == "V29EpsilonAttributeChanged";
  });
  return out;
}

std::string plain(std::string name) {
  std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
  return name;
}
std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return plain(info.param.name);
}
std::string right_name(const ::testing::TestParamInfo<RightCase>& info) {
  return plain(info.param.name());
}
INSTANTIATE_TEST_SUITE_P(Verify, WrongConversion, ::testing::ValuesIn(kWrong), case_name);
INSTANTIATE_TEST_SUITE_P(Verify, RightConversion, ::testing::ValuesIn(right_cases()), right_name);
INSTANTIATE_TEST_SUITE_P(Verify, WrongNarrowConversion, ::testing::ValuesIn(wrong_narrow_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Verify, RightNarrowConversion, ::testing::ValuesIn(right_narrow_cases()), right_name);

TEST(SlowConversions, OtherSeeds) {
  for (uint64_t seed = 2; seed <= 6; ++seed) {
    for (const Case& one : kWrong) {
      SCOPED_TRACE(std::string(one.name) + ", seed " + std::to_string(seed));
      expect_caught(one, seed);
    }
    for (const RightCase& one : right_cases()) {
      SCOPED_TRACE(one.name() + ", seed " + std::to_string(seed));
      expect_passed(one, seed);
    }
  }
}

}  // namespace
}  // namespace relayout
