// Tests the decision about a pair as the function that it is: figures and findings in, verdict out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verify/finding.h"

namespace relayout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SampleMetrics sample(int number, Outcome outcome = Outcome::same) {
  SampleMetrics out;
  out.sample = number;
  out.outcome = outcome;
  out.sums.elements = 4;
  out.max_error = outcome == Outcome::same ? 0 : 0.5;
  out.ratio = out.max_error;
  if (outcome == Outcome::different) out.reason = "error/range 5.0e-01 is above 1.0e-06";
  return out;
}

/// Figures of a pair with these outputs, each of two samples that agree.
VerifyResult agreeing(const std::vector<std::string>& outputs = {"y"}) {
  VerifyResult out;
  out.a = "a.onnx";
  out.b = "b.onnx";
  out.proof.emplace();
  for (const std::string& name : outputs) {
    OutputComparison& output = out.outputs.emplace_back();
    output.name = name;
    output.type = DataType::float32;
    output.samples = {sample(0), sample(1)};
  }
  return out;
}

const VerifyFinding kDoubt{.name = "guard-lost", .text = "node 'log' is fed zeros", .node = "log"};
const VerifyFinding kDifference{.severity = Severity::difference, .name = "node-differs", .text = "node 'relu' differs", .node = "relu"};
const VerifyFinding kDefect{.severity = Severity::defect, .name = "optimized", .text = "node 'conv' errs"};
const VerifyFinding kAgreement{.severity = Severity::agreement, .text = "proved"};

OutputComparison judged(const OutputComparison& output) {
  VerifyResult measured;
  measured.outputs.push_back(output);
  return decide(measured, {}, {}).outputs.front();
}

TEST(Decide, OutputsThatAgreeAreTheSame) {
  const VerifyResult result = decide(agreeing(), {}, {});
  EXPECT_EQ(result.outcome, Outcome::same);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(exit_code(result, false), 0);
}

TEST(Decide, TheWorstFindingDecidesWhateverTheOrder) {
  struct Case {
    VerifyFindings findings;
    Outcome outcome;
    int code;
  };
  const std::vector<Case> cases{{{kDoubt}, Outcome::inconclusive, 1},
                                {{kDoubt, kDifference}, Outcome::different, 1},
                                {{kDoubt, kDifference, kDefect}, Outcome::different, 70},
                                {{kDoubt, kDefect}, Outcome::inconclusive, 70},
                                {{kAgreement}, Outcome::same, 0},
                                {{kAgreement, kDoubt}, Outcome::same, 0}};
  std::mt19937 random(1);
  for (const Case& one : cases) {
    VerifyFindings findings = one.findings;
    for (int round = 0; round < 10; ++round) {
      std::ranges::shuffle(findings, random);
      const VerifyResult result = decide(agreeing(), findings, {});
      EXPECT_EQ(result.outcome, one.outcome) << round;
      EXPECT_EQ(exit_code(result, false), one.code) << round;
    }
  }
}

TEST(Decide, AllDoubtsAreListedAndTheFirstIsTheReason) {
  const VerifyFinding other{.name = "other-sizes", .text = "no size shows it", .node = "slice"};
  const VerifyFinding of_output{.name = "shows-nothing", .text = "constant", .output = 0};
  const VerifyResult result = decide(agreeing(), {other, kDoubt, of_output}, {});
  EXPECT_EQ(result.reason, "no size shows it");
  EXPECT_EQ(result.outputs[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(result.outputs[0].reason, "constant");
  ASSERT_EQ(result.doubts.size(), 3);
  EXPECT_EQ(result.doubts[1].name, "guard-lost");
  EXPECT_EQ(result.doubts[1].node, "log");
  EXPECT_EQ(result.doubts[2].output, "y");
}

TEST(Decide, AllowedDoubtsExitWith0) {
  VerifyOptions options;
  options.allow = {"guard-lost"};
  VerifyResult result = decide(agreeing(), {kDoubt}, options);
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  EXPECT_TRUE(result.doubts[0].allowed);
  EXPECT_EQ(exit_code(result, false), 0);
  const VerifyFinding other{.name = "other-sizes", .text = "no size shows it"};
  EXPECT_EQ(exit_code(decide(agreeing(), {kDoubt, other}, options), false), 1) << "each has to be allowed";
  EXPECT_EQ(exit_code(decide(agreeing(), {kDoubt, other}, options), true), 0);
  EXPECT_EQ(exit_code(decide(agreeing(), {kDoubt, kDifference}, options), true), 1) << "a difference is none";
}

TEST(Decide, AnAllowedDoubtIsNoReasonBesideAnOpenOneOfAnOutput) {
  VerifyOptions options;
  options.allow = {"guard-lost"};
  const VerifyFinding of_output{.name = "shows-nothing", .text = "all elements are equal", .output = 0};
  const VerifyResult result = decide(agreeing(), {kDoubt, of_output}, options);
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  EXPECT_EQ(result.reason, "") << "the output tells it";
  EXPECT_EQ(result.outputs.front().reason, of_output.text);
  EXPECT_EQ(exit_code(result, false), 1);
}

TEST(Decide, AnAcquittalTakesBackItsSampleAlone) {
  VerifyResult measured = agreeing({"y", "z"});
  measured.outputs[0].samples[1] = sample(1, Outcome::different);
  measured.outputs[1].samples[0] = sample(0, Outcome::different);
  const VerifyFinding of_y{.severity = Severity::acquittal, .name = "choice", .text = "a near tie", .output = 0, .sample = 1};
  const VerifyResult one = decide(measured, {of_y}, {});
  EXPECT_EQ(one.outputs[0].outcome, Outcome::same);
  EXPECT_EQ(one.outputs[1].outcome, Outcome::different);
  EXPECT_EQ(one.outputs[1].reason, "error/range 5.0e-01 is above 1.0e-06 (sample 0)");
  EXPECT_EQ(one.outcome, Outcome::different);
  EXPECT_THAT(one.remarks, ElementsAre("a near tie"));
  const VerifyFinding of_z{.severity = Severity::acquittal, .name = "choice", .text = "another", .output = 1, .sample = 0};
  EXPECT_EQ(decide(measured, {of_y, of_z}, {}).outcome, Outcome::same);
}

TEST(Decide, ADifferentSampleOverridesTheOthers) {
  OutputComparison output;
  output.samples.resize(2);
  output.samples[0].ratio = 9;
  output.samples[0].max_error = 1e-6;
  output.samples[1].sample = 1;
  output.samples[1].outcome = Outcome::different;
  output.samples[1].reason = "because";
  output.samples[1].ratio = 7;
  output.samples[1].max_error = 1e-3;
  output = judged(output);
  EXPECT_EQ(output.outcome, Outcome::different);
  EXPECT_EQ(output.reason, "because (sample 1)");
  EXPECT_EQ(output.ratio, 7);
  EXPECT_EQ(output.max_error, 1e-3);
}

TEST(Decide, ReasonAndFiguresAreOfOneSample) {
  OutputComparison output;
  output.samples.resize(3);
  const double ratios[] = {50, 200, 10}, errors[] = {3e-2, 2e-2, 1e-2};  // the largest error is not the one farthest beyond its floor
  for (int i = 0; i < 3; ++i) {
    SampleMetrics& metrics = output.samples[static_cast<std::size_t>(i)];
    metrics.sample = i + 4;
    metrics.outcome = Outcome::different;
    metrics.ratio = ratios[i];
    metrics.max_error = errors[i];
    metrics.reason = "reason " + std::to_string(i);
  }
  output = judged(output);
  EXPECT_EQ(output.telling, 1U);
  EXPECT_EQ(output.max_error, 2e-2);
  EXPECT_EQ(output.reason, "reason 1 (sample 5)");
}

TEST(Decide, FiguresAreThoseOfWellConditionedSamples) {
  OutputComparison output;
  output.samples.resize(2);
  output.samples[0].ratio = 1;
  output.samples[0].max_error = 1e-6;
  output.samples[1].ratio = 3;
  output.samples[1].max_error = 0.5;
  output.samples[1].ill_conditioned = true;
  output = judged(output);
  EXPECT_EQ(output.outcome, Outcome::same);
  EXPECT_EQ(output.max_error, 1e-6);
}

TEST(Decide, InterfacesThatDifferAreDifferentWhateverTheNumbers) {
  VerifyResult measured = agreeing();
  measured.interface.push_back({.side = "output", .name = "y", .field = InterfaceDifference::Field::type, .a = "f32", .b = "f16"});
  EXPECT_EQ(decide(measured, {}, {}).outcome, Outcome::different);
  EXPECT_EQ(decide(measured, {kAgreement}, {}).outcome, Outcome::different);
  measured.interface.back().remark = true;
  EXPECT_EQ(decide(measured, {}, {}).outcome, Outcome::same);
  measured.interface.push_back({.side = "output", .name = "y", .field = InterfaceDifference::Field::missing, .a = "f32", .b = ""});
  measured.outputs[0].samples.clear();
  const VerifyResult missing = decide(measured, {}, {});
  EXPECT_EQ(missing.outputs[0].outcome, Outcome::different);
  EXPECT_EQ(missing.outputs[0].reason, "missing in b.onnx");
}

TEST(Decide, AnOutputThatWasNotComparedIsInDoubt) {
  VerifyResult measured = agreeing();
  measured.outputs[0].samples.clear();
  const VerifyResult result = decide(measured, {}, {});
  EXPECT_EQ(result.outcome, Outcome::inconclusive);
  ASSERT_EQ(result.doubts.size(), 1);
  EXPECT_EQ(result.doubts[0].name, "not-compared");
}

TEST(Decide, StrictTakesNoUnexplainedDifference) {
  VerifyOptions options;
  options.strict = true;
  VerifyResult measured = agreeing();
  measured.proof->unexplained.resize(2);
  EXPECT_EQ(decide(measured, {}, options).outcome, Outcome::different);
  EXPECT_THAT(decide(measured, {}, options).reason, HasSubstr("2 differences"));
  // An allowed doubt is no excuse.
  options.allow = {"guard-lost"};
  EXPECT_EQ(decide(measured, {kDoubt}, options).outcome, Outcome::different);
  EXPECT_EQ(decide(measured, {kDoubt}, options).doubts.size(), 1);
  measured.proof->unexplained.clear();
  measured.proof->proved = true;
  EXPECT_EQ(decide(measured, {}, options).outcome, Outcome::same);
}

TEST(Decide, CoarserTypesAreDifferentEvenWithinTheirFloors) {
  const VerifyFinding coarser{
      .severity = Severity::difference, .name = "coarser-type", .text = "B computes in f16", .advice = ": --precision fp16 accepts"};
  EXPECT_EQ(decide(agreeing(), {coarser}, {}).reason, "B computes in f16: --precision fp16 accepts");
  VerifyResult measured = agreeing();
  measured.outputs[0].samples[0] = sample(0, Outcome::different);
  EXPECT_EQ(decide(measured, {coarser}, {}).reason, "B computes in f16") << "beyond the floor of f16, no option helps";
  EXPECT_THAT(decide(agreeing(), {kDifference, coarser}, {}).remarks, ElementsAre("B computes in f16"));
}

TEST(Decide, NoBoundOfALossCoversAContradictedDeclaration) {
  VerifyOptions options;
  options.accept.snr = 1;
  const VerifyFinding contradiction{
      .severity = Severity::difference, .name = "contradicts-declaration", .text = "B declares [2, 3], makes [3, 2]", .output = 0};
  for (const Outcome outcome : {Outcome::same, Outcome::different}) {
    VerifyResult measured = agreeing();
    measured.outputs[0].samples[1].outcome = outcome;
    const VerifyResult result = decide(measured, {contradiction}, options);
    EXPECT_EQ(result.outcome, Outcome::different) << "whether the numbers agree or not";
    EXPECT_EQ(result.outputs[0].reason, contradiction.text);
  }
}

TEST(Decide, DoubtsHaveNamesThatTheOptionTakes) {
  const std::vector<std::string_view> names = doubt_names();
  for (const char* const name :
       {"guard-lost", "one-size-only", "undefined-order", "cast-grain", "formula-overflow", "unread-attribute", "not-run"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
  std::vector<std::string_view> sorted = names;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "each once";
}

TEST(Decide, ACaseOfStoredOutputsPassesUnlessSomethingIsFound) {
  const VerifyFinding refusal{.text = "node 'n' cannot run"};
  EXPECT_EQ(decide(DataCase{}, {}, false).status, "passed");
  EXPECT_EQ(decide(DataCase{}, {kDifference}, false).status, "failed");
  EXPECT_EQ(decide(DataCase{}, {kDifference}, false).message, kDifference.text);
  EXPECT_EQ(decide(DataCase{}, {kDifference}, true).status, "pass-loose");
  EXPECT_EQ(decide(DataCase{}, {refusal}, true).status, "unsupported");
  EXPECT_EQ(decide(DataCase{}, {kDifference, refusal}, true).message, refusal.text);
}

}  // namespace
}  // namespace relayout
