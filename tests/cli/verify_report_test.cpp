#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cli/common/report.h"
#include "cli/verify/report.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

VerifyResult same() {
  VerifyResult result;
  result.a = "resnet50.onnx";
  result.b = "resnet50.cl.onnx";
  result.samples = 4;
  result.draws = 3;
  result.seed = 1;
  result.threads = 2;
  result.onednn = "3.7.2";
  result.isa = "AVX-512";
  result.seconds = 3.14;
  OutputComparison output;
  output.name = "output";
  output.type = DataType::float32;
  output.shape = "[N, 1000]";
  output.dims = {2, 1000};
  output.max_error = 9.9e-7;
  output.floor = 8.6e-7;
  output.bound = 4.3e-6;
  output.ratio = 1.15;
  SampleMetrics metrics;
  metrics.max_error = 9.9e-7;
  metrics.floor.max = 8.6e-7;
  metrics.bound.max = 4.3e-6;
  metrics.ratio = 1.15;
  metrics.psnr = std::numeric_limits<double>::infinity();
  metrics.ulp_histogram = {90, 9, 1};
  output.samples.push_back(metrics);
  result.outputs.push_back(output);
  return result;
}

VerifyResult different() {
  VerifyResult result = same();
  result.outcome = Outcome::different;
  OutputComparison& output = result.outputs.front();
  output.outcome = Outcome::different;
  output.reason = "error/range 3.1e-02 is above 4.3e-06 (sample 1)";
  output.hint = "B is 1.05 × A";
  output.max_error = 3.1e-2;
  output.ratio = 36046;
  SampleMetrics& metrics = output.samples.front();
  metrics.outcome = Outcome::different;
  metrics.max_error = 3.1e-2;
  metrics.max_abs = 0.24;
  metrics.worst.at = {1, 417};
  metrics.worst.a = 2.07;
  metrics.worst.b = 2.31;
  return result;
}

/// The screen of a comparison.
std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style, bool lists_layers = false) {
  return text_of(verify_report(result, allow_inconclusive, lists_layers), style);
}

TEST(VerifyReport, TheErrorOfOneSidedNaNIsNaN) {
  VerifyResult result = different();
  OutputComparison& output = result.outputs.front();
  output.max_error = 0;
  output.samples.front().non_finite.nan_b = 3;
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("error/range NaN"));
  EXPECT_THAT(verify_text(result, false, {}), Not(HasSubstr("error/range 0")));
}

TEST(VerifyReport, TheErrorOfOneSidedInfinityIsInfinite) {
  VerifyResult result = different();
  OutputComparison& output = result.outputs.front();
  output.max_error = 0;
  output.ratio = 0;
  output.samples.front().non_finite.infinite = 3;
  EXPECT_THAT(verify_text(result, false, {}), testing::AllOf(HasSubstr("error/range ∞"), HasSubstr("infinite in one only")));
  EXPECT_THAT(verify_text(result, false, {}), Not(HasSubstr("ratio 0")));
}

TEST(VerifyReport, TheErrorOfANodeThatIsNotFiniteIsNoNumber) {
  VerifyResult result = different();
  LayerResult layer;
  layer.node = "/c/Conv";
  layer.op_type = "Conv";
  layer.outcome = Outcome::different;
  layer.finite = false;
  layer.floor.max = 1e-7;
  layer.bound = 5e-7;
  layer.depth.error = 0;
  layer.reason = "3 elements are NaN in B only";
  result.layers = {layer};
  result.proof.emplace();
  result.proof->unexplained.emplace_back().name = "c.weight";
  UnexplainedCheck& check = result.checks.emplace_back();
  check.node = layer.node;
  check.op_type = layer.op_type;
  check.floor = 1e-7;
  check.finite = false;
  check.outcome = Outcome::different;
  const std::string text = verify_text(result, false, {}, true);
  EXPECT_THAT(text, HasSubstr("its inputs agree, its output does not (3 elements are NaN in B only)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("c.weight +/c/Conv \\(Conv\\) +not finite +1.0e-07"));
  EXPECT_THAT(text, testing::ContainsRegex("/c/Conv \\(Conv\\) .* not finite +1.0e-07"));
}

TEST(VerifyReport, UnexplainedDifferencesAreSortedByTheirErrorInFloors) {
  const double infinity = std::numeric_limits<double>::infinity();
  VerifyResult result = different();
  result.proof.emplace();
  const auto add = [&](const char* name, double error, double floor) {
    result.proof->unexplained.emplace_back().name = name;
    UnexplainedCheck& check = result.checks.emplace_back();
    check.entry = result.checks.size() - 1;
    check.node = name;
    check.error = error;
    check.floor = floor;
  };
  add("few", 1e-3, 1e-4), add("none", 0, 0), add("more", 1e-2, 1e-4), add("infinite", infinity, infinity), add("wide", 1e-2, infinity),
      add("exact", 1e-9, 0), add("most", 1, 1e-4);
  const std::string text = verify_text(result, false, {.verbose = true});
  std::size_t last = 0;
  for (const char* const name : {"infinite", "exact", "most", "more", "few", "none", "wide"}) {
    const std::size_t at = text.find(std::string("\n  ") + name + " ");
    ASSERT_NE(at, std::string::npos) << name << "\n" << text;
    EXPECT_GT(at, last) << name << "\n" << text;
    last = at;
  }
}

TEST(VerifyReport, SamplesBeyondTheRequestedOnesAreExplained) {
  VerifyResult result = different();
  EXPECT_EQ(verify_text(result, false, {}).find("smaller"), std::string::npos);
  SampleInputs milder;
  milder.deviation = 0.25;
  result.inputs.push_back(milder);
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("; 1 sample is of smaller inputs, as others are ill-conditioned · oneDNN"));
  milder.rejected = "too small";
  result.inputs.push_back(milder);
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("; 1 sample is of smaller inputs"));
}

TEST(VerifyReport, TheVerdictHasAReason) {
  VerifyResult result = different();
  EXPECT_THAT(verify_text(result, false, {}),
              HasSubstr("different   output 'output': error/range 3.1e-02 is above 4.3e-06 (sample 1) · 4 samples"));
  EXPECT_EQ(verify_text(result, false, {.form = Form::quiet}),
            "different   output 'output': error/range 3.1e-02 is above 4.3e-06 (sample 1)   exit 1\n");
  LayerResult layer;
  layer.node = "/c/Conv";
  layer.op_type = "Conv";
  layer.outcome = Outcome::different;
  layer.reason = "error/range 2.0e-02 is above 1.0e-06";
  result.layers = {layer};
  result.outputs.push_back(result.outputs.front());
  EXPECT_THAT(verify_text(result, false, {.form = Form::quiet}),
              HasSubstr("different   output 'output' and 1 more differ from node '/c/Conv' (Conv) onwards   exit 1"));
  EXPECT_EQ(junit_suite(result, false).cases.back().message, "output 'output' and 1 more differ from node '/c/Conv' (Conv) onwards");
  InterfaceDifference added;
  added.side = "input";
  added.name = "mask";
  added.field = InterfaceDifference::Field::added;
  added.b = "f32[1]";
  result.interface = {added};
  EXPECT_THAT(verify_text(result, false, {.form = Form::quiet}),
              HasSubstr("different   input 'mask' (f32[1]) is only in resnet50.cl.onnx   exit 1"));
  EXPECT_EQ(verify_json(result, false).find("reason")->text(),
            "input 'mask' (f32[1]) is only in resnet50.cl.onnx; node '/c/Conv' (Conv): error/range 2.0e-02 is above 1.0e-06; "
            "output 'output': error/range 3.1e-02 is above 4.3e-06 (sample 1)");
  VerifyResult open = same();
  open.outcome = open.outputs.front().outcome = Outcome::inconclusive;
  open.outputs.front().reason = "constant: every element is 1";
  EXPECT_EQ(verify_json(open, false).find("reason")->text(), "output 'output': constant: every element is 1");
  EXPECT_EQ(verify_json(same(), false).find("reason")->text(), "");
}

TEST(VerifyReport, ANodeThatIsGoneIsNamedWithItsModel) {
  VerifyResult result = different();
  LayerResult layer;
  layer.node = "/c/Conv";
  layer.op_type = "Conv";
  layer.outcome = Outcome::different;
  layer.reason = "error/range 2.0e-02 is above 1.0e-06";
  layer.proof.unexplained = {0};
  result.layers = {layer};
  result.proof.emplace().unexplained = {
      {Unexplained::Kind::node_removed, "/relu/Relu", "'/relu/Relu' (Relu) is gone; no fold explains it", 0, 0, true}};
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text,
              HasSubstr("first wrong node   /c/Conv (Conv), where '/relu/Relu' (Relu) of resnet50.onnx is gone (error/range 2.0e-02"));
  EXPECT_THAT(text, HasSubstr("differs from node '/c/Conv' (Conv) onwards, where '/relu/Relu' (Relu) of resnet50.onnx is gone · "));
  result.proof->unexplained = {{Unexplained::Kind::node_added, "/relu/Relu", "'/relu/Relu' (Relu) was not there", 0, 0, false}};
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("onwards, where '/relu/Relu' (Relu) of resnet50.cl.onnx is new · "));
}

TEST(VerifyReport, ANodeThatIsNotFiniteIsTheReason) {
  VerifyResult result = different();
  result.lossy = "B computes 20 of 21 convolutions and matrix products in f16";
  result.outputs.front().samples.front().non_finite.nan_b = 3;
  LayerResult layer;
  layer.node = "/add/Add";
  layer.op_type = "Add";
  layer.outcome = Outcome::different;
  layer.finite = false;
  layer.reason = "416 elements are infinite in one of both (first [0]: -inf, was -297122)";
  result.layers = {layer};
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, HasSubstr("in f16\n  output  NaN in B only\n"));
  EXPECT_THAT(
      text, HasSubstr("different   output 'output' differs from node '/add/Add' (Add) onwards: 416 elements are infinite in one of both"));
}

TEST(VerifyReport, AVerdictNamesItsDoubt) {
  VerifyResult result = same();
  result.outcome = Outcome::inconclusive;
  result.proof.emplace().unexplained = {{Unexplained::Kind::node_changed, "/r", "'/r' (Clip) had the operator Relu", 0, 0, false}};
  result.doubts = {{"edge-values", "/r", "", "'/r' (Clip) had the operator Relu, and no sample holds NaN there", false},
                   {"rule-not-tried", "/r", "", "'/r' (Clip) had the operator Relu, and no sample reaches that", false}};
  result.reason = result.doubts.front().text + " (and some advice)";
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(
      text, HasSubstr("inconclusive   edge-values: '/r' (Clip) had the operator Relu, and no sample holds NaN there (and some advice) · "));
  EXPECT_THAT(text, HasSubstr("also in doubt (rule-not-tried): '/r': no sample reaches that\n"));
  EXPECT_THAT(text, Not(HasSubstr("also in doubt (edge-values)")));
}

TEST(VerifyReport, NaNInBothIsNoFigure) {
  VerifyResult result = same();
  SampleMetrics& metrics = result.outputs.front().samples.front();
  metrics.non_finite.nan_both = metrics.sums.elements = 2000;
  EXPECT_THAT(verify_text(result, false, {}), testing::ContainsRegex("output   f32 [^ ]* *[^ ]*   no finite value\n"));
}

TEST(VerifyReport, TextAndJsonHaveOneVerdict) {
  VerifyResult result = same();
  result.outcome = Outcome::inconclusive;
  result.unsupported_b.push_back({"n", "Odd", "", 0, "no kernel"});
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("\nnot supported "));
  EXPECT_EQ(verify_json(result, false).find("verdict")->text(), "not supported");
  result.defect = "two plans of one node differ";
  EXPECT_EQ(verify_json(result, false).find("verdict")->text(), "defect");
}

TEST(VerifyReport, AnAcceptedLossIsNotCalledRounding) {
  VerifyResult result = different();
  result.outcome = result.outputs.front().outcome = result.outputs.front().samples.front().outcome = Outcome::accepted;
  result.reason = "40.0 dB, top-1 100 %";
  result.outputs.front().reason.clear();
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, HasSubstr("accepted   40.0 dB, top-1 100 %"));
  EXPECT_THAT(text, HasSubstr("exit 0"));
  EXPECT_THAT(text, Not(HasSubstr("within the bound")));
  EXPECT_EQ(verify_json(result, false).find("verdict")->text(), "accepted");
  EXPECT_EQ(verify_json(result, false).find("exit_code")->number(), 0);
  EXPECT_THAT(html_of(verify_report(result, false)), HasSubstr("accepted"));
  const JunitSuite suite = junit_suite(result, false);
  for (const JunitCase& one : suite.cases) EXPECT_EQ(one.status, JunitCase::Status::passed) << one.name;
}

TEST(VerifyReport, LossesByNodeAreInEveryForm) {
  VerifyResult result = different();
  result.lossy = "B quantizes 3 tensors to int8 (1 weight, 2 activations)";
  QuantizationLoss bad{"/conv<1>/Conv", "Conv", "c", 3.84, 45.21, 0.047, "another result than its steps give"};
  QuantizationLoss good{"/gemm/Gemm", "Gemm", "g", 40.5, std::nullopt, std::nullopt, ""};
  result.losses = {bad, good};
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, HasSubstr("  loss by node            alone  expected  clipped\n"
                              "  /conv<1>/Conv (Conv)   3.8 dB   45.2 dB    4.7 %  another result than its steps give\n"
                              "  /gemm/Gemm (Gemm)     40.5 dB         –        –\n"));
  const Json document = verify_json(result, false);
  const auto losses = document.find("losses");
  ASSERT_TRUE(losses);
  ASSERT_EQ(losses->size(), 2U);
  EXPECT_EQ(losses->at(0)->find("node")->text(), "/conv<1>/Conv");
  EXPECT_DOUBLE_EQ(losses->at(0)->find("snr")->number().value_or(0), 3.84);
  EXPECT_DOUBLE_EQ(losses->at(0)->find("expected_snr")->number().value_or(0), 45.21);
  EXPECT_DOUBLE_EQ(losses->at(0)->find("clipped")->number().value_or(0), 0.047);
  EXPECT_EQ(losses->at(0)->find("fault")->text(), "another result than its steps give");
  EXPECT_FALSE(losses->at(1)->find("expected_snr")->number());
  const std::string html = html_of(verify_report(result, false));
  EXPECT_THAT(html, HasSubstr("Loss by node"));
  EXPECT_THAT(html, HasSubstr("/conv&lt;1&gt;/<wbr>Conv (Conv)"));
  EXPECT_THAT(html, Not(HasSubstr("/conv<1>/Conv (Conv)<")));
  EXPECT_THAT(html, HasSubstr("45.2 dB"));
  const std::string sentence = "/conv<1>/Conv (Conv): 3.8 dB alone, 45.2 dB expected, 4.7 % clipped: another result than its steps give";
  const JunitSuite suite = junit_suite(result, false);
  EXPECT_THAT(suite.properties, testing::Contains(testing::Pair("loss by node", sentence)));
  EXPECT_THAT(suite.properties, testing::Contains(testing::Pair("loss by node", "/gemm/Gemm (Gemm): 40.5 dB alone")));
  EXPECT_THAT(suite.cases.back().details, HasSubstr(sentence + "\n/gemm/Gemm (Gemm): 40.5 dB alone"));
  const std::string markdown = markdown_text({suite});
  EXPECT_THAT(markdown, HasSubstr("3.8 dB alone, 45.2 dB expected, 4.7 % clipped: another result than its steps give"));
  // An accepted loss is reported as well.
  result.outcome = result.outputs.front().outcome = result.outputs.front().samples.front().outcome = Outcome::accepted;
  EXPECT_THAT(junit_suite(result, false).properties, testing::Contains(testing::Pair("loss by node", sentence)));
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("loss by node"));
}

TEST(VerifyReport, EachFigureOfALossNamesItsSample) {
  VerifyResult result = different();
  result.lossy = "B quantizes 3 tensors to int8 (1 weight, 2 activations)";
  OutputComparison& output = result.outputs.front();
  output.loss = Loss{.snr = 29.6, .worst_snr = 24, .cosine = 0.9995, .error = 3.1e-2, .match = 1, .top1 = {}, .top5 = {}};
  // Both lines are about one sample.
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("largest error/range 3.1e-02\n"));
  // The largest error belongs to a different sample, which is named.
  SampleMetrics larger = output.samples.front();
  larger.sample = 7;
  larger.max_error = output.loss->error = 4e-2;
  output.samples.push_back(larger);
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, HasSubstr("largest error/range 4.0e-02 (sample 7)\n"));
  EXPECT_THAT(text, HasSubstr("  error/range 3.1e-02"));
  EXPECT_THAT(text, HasSubstr("different: error/range 3.1e-02 is above"));
  output.loss->snr = output.loss->worst_snr = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("  nothing left, cosine"));
}

TEST(VerifyReport, OnlyADifferentVerdictHasAWrongNode) {
  for (const bool is_wrong : {true, false}) {
    VerifyResult result = is_wrong ? different() : same();
    LayerResult layer;
    layer.node = "n", layer.op_type = "Conv", layer.outcome = Outcome::different;
    result.layers.push_back(layer);
    const std::string text = verify_text(result, false, {});
    EXPECT_EQ(text.find("first wrong node") != std::string::npos, is_wrong) << text;
    EXPECT_EQ(text.find("first node beyond rounding   n (Conv)") == std::string::npos, is_wrong) << text;
  }
}

TEST(VerifyReport, ASameWithUnexplainedDifferencesIsReportedAsSuch) {
  VerifyResult result = same();
  result.proof.emplace().proved = true;
  EXPECT_THAT(verify_text(result, false, {}), Not(HasSubstr("--strict")));
  result.proof->proved = false;
  result.proof->unexplained.push_back({Unexplained::Kind::node_removed, "clip", "'clip' (Clip) is gone", 0, 0, true});
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("same   1 unexplained difference stays within rounding (--strict refuses it) · "));
  result.proof->unexplained.push_back(result.proof->unexplained.front());
  EXPECT_THAT(verify_text(result, false, {.form = Form::quiet}),
              HasSubstr("same   2 unexplained differences stay within rounding (--strict refuses them)   exit 0"));
}

TEST(VerifyReport, TensorsOfAnotherTypeAreOneLine) {
  VerifyResult result = same();
  result.proof.emplace();
  for (const char* const name : {"a", "b", "c"}) {
    Unexplained entry{
        Unexplained::Kind::weight, name, "weight '" + std::string(name) + "' is f16[2], was f32[2]", 0, 0, false, "f32", "f16"};
    result.proof->unexplained.push_back(entry);
  }
  result.proof->unexplained.push_back({Unexplained::Kind::tensor, "d", "constant 'd' is i32[2], was i64[2]", 0, 0, false, "i64", "i32"});
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("unexplained   3 tensors are stored as f16, were f32 (-v)\n"
                                                        "unexplained   constant 'd' is i32[2], was i64[2]\n"));
  EXPECT_THAT(verify_text(result, false, {.verbose = true}), HasSubstr("unexplained   weight 'b' is f16[2], was f32[2]\n"));
}

TEST(VerifyReport, DifferentStructuresAreReportedFirst) {
  VerifyResult result = different();
  ProofResult& proof = result.proof.emplace();
  const auto add = [&](Unexplained::Kind kind, const std::string& text, int64_t values = 0, const char* was = "", const char* is = "") {
    proof.unexplained.push_back({kind, text.substr(0, text.find(' ')), text, values, 0, false, was, is});
  };
  using Kind = Unexplained::Kind;
  add(Kind::tensor, "constant 'r' is f32[1, 8, 1, 1], was f32[16] ('s')");
  add(Kind::tensor, "constant 't' is i8[], was i64[2]", 0, "i64", "i8");
  for (int i = 0; i < 2; ++i) add(Kind::weight, "weight 'q' is i8[8, 3], was f32[8, 3]", 0, "f32", "i8");
  for (int i = 0; i < 5; ++i) add(Kind::node_added, "'q" + std::to_string(i) + "' (QuantizeLinear) is only there");
  add(Kind::node_removed, "'relu' (Relu) is gone");
  for (const char* const name : {"epsilon", "momentum"})
    add(Kind::attribute, "'norm' (BatchNormalization) has another attribute '" + std::string(name) + "'");
  add(Kind::weight, "weight 'w' differs (3 values, up to 1.0e-02 relative)", 3);
  EXPECT_THAT(
      verify_text(result, false, {}),
      testing::StartsWith("unexplained   the models have little in common: 0 nodes and 0 constants are the same (-v: each difference)\n"
                          "output "));
  proof.nodes_equal = 20;
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, testing::StartsWith("unexplained   the structures differ: 5 nodes only in " + result.b + ", 1 only in " + result.a +
                                        ", 1 with other attributes\n"
                                        "unexplained   weight 'w' differs (3 values, up to 1.0e-02 relative)\n"
                                        "unexplained   2 tensors are stored as i8, were f32 (-v)\n"
                                        "unexplained   2 constants have no counterpart of the same type and shape (-v)\n"));
  EXPECT_THAT(text, Not(HasSubstr("was f32[16]")));
  EXPECT_THAT(text, Not(HasSubstr("were i64")));
  // -v lists all entries, uninformative ones last.
  const std::string all = verify_text(result, false, {.verbose = true});
  EXPECT_LT(all.find("weight 'w' differs"), all.find("'q0' (QuantizeLinear)"));
  EXPECT_LT(all.find("'relu' (Relu)"), all.find("was f32[16]"));
  // Losses by b's design come first.
  result.lossy = "B quantizes 3 tensors to int8 (1 weight, 2 activations)";
  EXPECT_THAT(verify_text(result, false, {}), testing::StartsWith(result.lossy));
}

TEST(VerifyReport, AFewNodesThatDifferAreNamed) {
  VerifyResult result = different();
  ProofResult& proof = result.proof.emplace();
  proof.unexplained.push_back({Unexplained::Kind::tensor, "shape", "constant 'shape' is i64[3], was i64[2]", 0, 0, false});
  proof.unexplained.push_back({Unexplained::Kind::node_removed, "relu", "'relu' (Relu) is gone", 0, 0, true});
  EXPECT_THAT(verify_text(result, false, {}), testing::StartsWith("unexplained   'relu' (Relu) is gone\n"
                                                                  "unexplained   constant 'shape' is i64[3], was i64[2]\n"));
}

TEST(VerifyReport, AnOutputWithoutElementsIsReported) {
  VerifyResult result = same();
  result.outputs.front().dims = result.outputs.front().samples.front().dims = {0, 1000};
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("output   f32 [0, 1000]   no elements\n"));
}

TEST(VerifyReport, ASameIsTwoLines) {
  EXPECT_EQ(verify_text(same(), false, {}),
            "output   f32 [2, 1000]   error/range 9.9e-07   floor 8.6e-07   ratio 1.1\n"
            "same   4 samples, seed 1, floor from 3 runs with perturbed weights · oneDNN 3.7.2, AVX-512, 2 threads · 3.1 s   exit 0\n");
}

TEST(VerifyReport, ADifferenceNamesItsPlaceAndSize) {
  const std::string text = verify_text(different(), false, {});
  EXPECT_THAT(text,
              HasSubstr("output   f32 [2, 1000]   error/range 3.1e-02   floor 8.6e-07   ratio 36,000   worst [1, 417]: 2.31, was 2.07\n"));
  EXPECT_THAT(text, HasSubstr("  different: error/range 3.1e-02 is above 4.3e-06 (sample 1)\n  B is 1.05 × A\n"));
  EXPECT_THAT(text, HasSubstr("exit 1\n"));
}

TEST(VerifyReport, V43ACoarseFloorIsReported) {
  VerifyResult result = same();
  result.outputs.front().floor = 0.18;
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("  the floor is 18 % of the range"));
}

TEST(VerifyReport, TheDecisiveBoundIsNamed) {
  VerifyResult result = same();
  OutputComparison& output = result.outputs.front();
  output.max_error = 3.4e-6;
  output.ratio = 4;
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("  within the bound of 5 × floor, but above what"));
  EXPECT_EQ(verify_json(result, false).find("outputs")->at(0)->find("bound_by")->text(), "floor");
  output.max_error = 1.8e-7;
  output.floor = 1e-9;
  output.bound = 2e-7;
  output.ratio = 180;
  output.least_bound = output.samples.front().least_bound = true;
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("  within 2.0e-07, the least bound of f32: 5 × floor is less\n"));
  EXPECT_THAT(verify_text(result, false, {}), Not(HasSubstr("within the bound of 5 × floor")));
  EXPECT_EQ(verify_json(result, false).find("outputs")->at(0)->find("bound_by")->text(), "type");
}

TEST(VerifyReport, V73TheFirstWrongNodeIsNamed) {
  VerifyResult result = different();
  LayerResult layer;
  layer.node = "/layer3/conv2/Conv";
  layer.op_type = "Conv";
  layer.outcome = Outcome::different;
  layer.error = 4.1e-2;
  layer.floor.max = 2e-7;
  layer.bound = 1e-6;
  layer.replaces = {"'c' (Conv)", "'n' (BatchNormalization)"};
  result.layers = {layer, layer};
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text,
              HasSubstr("first wrong node   /layer3/conv2/Conv (Conv), its inputs agree, its output does not (4.1e-02, floor 2.0e-07)\n"));
  EXPECT_THAT(text, HasSubstr("it replaces these nodes of resnet50.onnx: 'c' (Conv), 'n' (BatchNormalization)\n"));
  EXPECT_THAT(text, HasSubstr("1 more node that does so on its own (--layers)\n"));
  result.layers.front().replaces.assign(20, "'c' (Conv)");
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("'c' (Conv), 'c' (Conv) and 14 more nodes (-v)\n"));
  EXPECT_THAT(verify_text(result, false, {.verbose = true}), Not(HasSubstr("more nodes (-v)")));
}

TEST(VerifyReport, V8InterfaceDifferencesComeFirst) {
  using Field = InterfaceDifference::Field;
  VerifyResult result = different();
  result.interface = {{"output", "logits", Field::renamed, "logits", "LOGITS", false},
                      {"output", "", Field::order, "y, z", "z, y", false},
                      {"input", "x", Field::dim, "free (N)", "1", false, false, 0},
                      {"output", "evil\x1b[2J", Field::missing, "f32[2]", "", false},
                      {"output", "y", Field::dim, "free", "3", true, false, 1}};
  const std::string text = verify_text(result, false, {});
  EXPECT_EQ(text.rfind("output 'logits' is named 'LOGITS' in resnet50.cl.onnx (--rename=logits=LOGITS pairs them)\n"
                       "outputs are in another order: z, y; was y, z\n"
                       "input 'x': dim 0 is 1, was free (N)\n"
                       "output 'evil\\x1b[2J' (f32[2]) is missing in resnet50.cl.onnx\n",
                       0),
            0U)
      << text;
  EXPECT_THAT(text, Not(HasSubstr("dim 1")));
  EXPECT_THAT(verify_text(result, false, {.verbose = true}), HasSubstr("output 'y': dim 1 is 3, was free\n"));
}

TEST(VerifyReport, ColorsOnlyOnRequest) {
  EXPECT_THAT(verify_text(different(), false, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(verify_text(different(), false, {.color = true}), HasSubstr("\x1b[31mdifferent\x1b[0m"));
}

TEST(VerifyReport, VerboseShowsEverySample) {
  EXPECT_THAT(verify_text(same(), false, {.verbose = true}), HasSubstr("0 · 1 · <2^2"));
}

TEST(VerifyReport, AReasonThatKeepsNodesFromRunningIsGivenOnce) {
  VerifyResult result;
  result.a = "a.onnx";
  result.b = "b.onnx";
  result.outcome = Outcome::inconclusive;
  for (const char* const op_type : {"Conv", "Conv", "ReorderInput", "Conv", "MaxPool", "MaxPool"}) {
    result.unsupported_a.push_back({"n" + std::to_string(result.unsupported_a.size()), op_type, "com.acme", 1, "blocked"});
  }
  result.unsupported_b = result.unsupported_a;
  const std::string line = "a.onnx, b.onnx: cannot run com.acme:Conv × 3, com.acme:ReorderInput, com.acme:MaxPool × 2 (blocked)\n";
  EXPECT_THAT(verify_text(result, true, {}), testing::StartsWith(line + "not supported"));
  EXPECT_THAT(verify_text(result, true, {.verbose = true}), testing::StartsWith(line + "  'n0' (com.acme:Conv)\n  'n1' (com.acme:Conv)\n"));
  result.unsupported_a.push_back({"roi", "MaxUnpool", "", 11, "indices"});
  EXPECT_THAT(verify_text(result, true, {}), testing::StartsWith(line + "a.onnx: cannot run 'roi' (MaxUnpool: indices)\nnot supported"));
  result.unsupported_b.pop_back();
  EXPECT_THAT(verify_text(result, true, {}),
              HasSubstr("b.onnx: cannot run com.acme:Conv × 3, com.acme:ReorderInput, com.acme:MaxPool (blocked)\n"));
}

TEST(VerifyReport, UnsupportedNodesAreGroupedByReason) {
  VerifyResult result;
  result.a = "a.onnx";
  result.b = "b.onnx";
  result.outcome = Outcome::inconclusive;
  result.reason = "nothing was executed";
  for (int i = 0; i < 5; ++i) result.unsupported_b.push_back({"n" + std::to_string(i), "Foo", "com.acme", 1, "unknown domain"});
  result.unsupported_b.push_back({"roi", "MaxUnpool", "", 11, "indices"});
  const std::string text = verify_text(result, true, {});
  EXPECT_THAT(text,
              testing::StartsWith("b.onnx: cannot run com.acme:Foo × 5 (unknown domain)\nb.onnx: cannot run 'roi' (MaxUnpool: indices)\n"));
  EXPECT_THAT(text, HasSubstr("exit 4\n"));
  const std::string verbose = verify_text(result, true, {.verbose = true});
  for (int i = 0; i < 5; ++i) EXPECT_THAT(verbose, HasSubstr("\n  'n" + std::to_string(i) + "' (com.acme:Foo)\n"));
}

TEST(VerifyReport, ADefectIsReportedAsRelayouts) {
  VerifyResult result = same();
  result.defect = "b.onnx is right as written, but not optimized";
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("defect in relayout: b.onnx is right as written"));
  EXPECT_THAT(verify_text(result, false, {}), HasSubstr("exit 70\n"));
}

TEST(VerifyReport, JsonHasTheSchema) {
  VerifyResult result = different();
  result.interface = {{"output", "y", InterfaceDifference::Field::dim, "free", "3", true, false, 1}};
  result.stages = {{"candidate", 0, 4, 0.5}};
  const Json json = verify_json(result, false);
  EXPECT_EQ(json.find("runs")->dump(-1), R"([{"what":"candidate","a":0,"b":4,"cpu":0.5}])");
  EXPECT_EQ(json.find("schema")->text(), "relayout.verify/1");
  EXPECT_EQ(json.find("verdict")->text(), "different");
  EXPECT_EQ(json.find("exit_code")->number(), 1);
  EXPECT_EQ(json.find("a")->find("path")->text(), "resnet50.onnx");
  const Json output = *json.find("outputs")->at(0);
  EXPECT_EQ(output.find("ratio")->number(), 36046);
  const Json sample = *output.find("samples")->at(0);
  EXPECT_EQ(sample.find("psnr")->text(), "inf");
  EXPECT_EQ(sample.find("at")->dump(-1), "[1,417]");
  EXPECT_EQ(sample.find("ulp")->dump(-1), "[90,9,1]");
  EXPECT_EQ(json.find("interface")->at(0)->find("remark")->dump(), "true");
}

TEST(VerifyReport, StoredCases) {
  DataResult result;
  result.model = "m.onnx";
  result.cases = {{"test_data_set_0 (as-written)", "passed", "", 0.42, 3e-7, 1e-5},
                  {"test_data_set_0 (optimized)", "failed", "output 'y': 3 of 4 elements beyond", 0.1, 2e-3, 1e-5}};
  EXPECT_EQ(text_of(data_report(result), {}),
            "test_data_set_0 (as-written)   passed   error/range 3.0e-07   may be 1.0e-05   0.4 s\n"
            "test_data_set_0 (optimized)    failed   error/range 2.0e-03   may be 1.0e-05   0.1 s\n"
            "  output 'y': 3 of 4 elements beyond\n"
            "1 of 2 passed   exit 1\n");
  const Json json = data_report(result).document();
  EXPECT_EQ(json.find("summary")->dump(-1), R"({"passed":1,"failed":1,"pass-loose":0,"unsupported":0})");
  EXPECT_EQ(json.find("cases")->at(1)->find("status")->text(), "failed");
  EXPECT_EQ(json.find("exit_code")->number(), 1);
}

TEST(VerifyReport, V82ElementsThatRoundEitherWayAreCounted) {
  DataResult result;
  result.cases = {{"set (optimized)", "passed", "", 0.1, 2e-3, 1e-2, 1234, "'q' (QuantizeLinear)"}};
  EXPECT_THAT(text_of(data_report(result), {}),
              testing::HasSubstr("\n  values moved by one ULP put 1,234 elements of quantized tensors on another "
                                 "step, the first at node 'q' (QuantizeLinear)\n"));
  EXPECT_EQ(data_report(result).document().find("cases")->at(0)->find("flips")->number(), 1234);
}

TEST(VerifyReport, ProofIsPrintedAboveTheOutputs) {
  VerifyResult result = same();
  result.proof.emplace();
  result.proof->proved = true;
  result.proof->folds = 53;
  result.proof->permutations = 17;
  result.proof->tensors_equal = 2;
  EXPECT_THAT(
      verify_text(result, false, {}),
      testing::StartsWith("proof   53 folds recomputed, 17 weights are byte permutations, 2 tensors byte-equal, nothing unexplained\n"));
  result.proof->near_folds = 50;
  result.proof->near_ulp = 2.25;
  EXPECT_THAT(verify_text(result, false, {}),
              testing::StartsWith("proof   3 folds recomputed, 50 folds within 3 ULP, not rounded as doubles would be, "));
  result.proof->near_folds = 0;
  result.proof->folds = 0;
  result.proof->permutations = 1;
  EXPECT_THAT(verify_text(result, false, {}), testing::StartsWith("proof   1 weight is a byte permutation, 2 tensors byte-equal"));
  result.proof->rewritten = 12;
  EXPECT_THAT(verify_text(result, false, {}),
              testing::StartsWith("proof   1 weight is a byte permutation, 12 operators equal by formula, 2 tensors byte-equal"));
}

TEST(VerifyReport, V24UnexplainedDifferencesAreNamedWithEveryVerdict) {
  VerifyResult result = same();
  result.proof.emplace();
  result.proof->unexplained.push_back({Unexplained::Kind::interface, "y", "output 'y' is missing", 0, 0, true});
  for (int i = 0; i < 5; ++i) {
    result.proof->unexplained.push_back(
        {Unexplained::Kind::weight, "w", "weight 'w" + std::to_string(i) + "' differs (1 value, up to 1.0e-03 relative)", 1, 1e-3, false});
  }
  const std::string text = verify_text(result, false, {});
  EXPECT_THAT(text, HasSubstr("unexplained   weight 'w0' differs (1 value, up to 1.0e-03 relative)\n"));
  EXPECT_THAT(text, HasSubstr("2 more differences (-v)\n"));
  EXPECT_THAT(text, Not(HasSubstr("w3")));
  EXPECT_THAT(text, Not(HasSubstr("missing")));
  EXPECT_THAT(verify_text(result, false, {.verbose = true}), HasSubstr("'w4'"));
  const Json structure = *verify_json(result, false).find("structure");
  EXPECT_EQ(structure.find("unexplained")->size(), 6U);
  EXPECT_EQ(structure.find("unexplained")->at(1)->find("kind")->text(), "weight");
  EXPECT_EQ(structure.find("proved")->dump(), "false");
}

}  // namespace
}  // namespace relayout::cli
