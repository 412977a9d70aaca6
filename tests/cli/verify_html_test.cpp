#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verify/report.h"
#include "relayout/proof.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

VerifyResult wrong() {
  VerifyResult result;
  result.a = "a.onnx";
  result.b = "b.onnx";
  result.samples = 1;
  result.outcome = Outcome::different;
  OutputComparison output;
  output.name = "logits<1>";
  output.outcome = Outcome::different;
  output.reason = "error/range 1.0e-02 is above 1.0e-06";
  output.max_error = 1e-2;
  output.floor = 2e-7;
  output.bound = 1e-6;
  output.ratio = 50000;
  output.samples.resize(1);
  output.samples[0].ulp_histogram = {3, 0, 5};
  output.samples[0].bound.max = 1e-6;
  result.outputs.push_back(output);
  for (int i = 0; i < 3; ++i) {
    LayerResult layer;
    layer.node = "conv" + std::to_string(i);
    layer.op_type = "Conv";
    layer.depth.error = i == 0 ? 1e-7 : 1e-2;
    layer.depth.floor = 1e-7;
    if (i == 1) {
      layer.outcome = Outcome::different;
      layer.reason = "error/range 1.0e-02 is above 1.0e-06";
    }
    result.layers.push_back(layer);
  }
  return result;
}

TEST(VerifyHtml, ShowsVerdictBarsHistogramAndDepth) {
  const std::string html = html_of(verify_report(wrong(), false));
  EXPECT_THAT(html, HasSubstr("✗ different"));
  EXPECT_THAT(html, HasSubstr("First wrong node: conv1 (Conv)"));
  EXPECT_THAT(html, HasSubstr("aria-label='error against floor and bound'"));
  EXPECT_THAT(html, HasSubstr("aria-label='error histogram'"));
  EXPECT_THAT(html, HasSubstr("aria-label='error by depth'"));
  EXPECT_THAT(html, HasSubstr("logits&lt;1&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("logits<1>")));
  EXPECT_THAT(html, HasSubstr("relayout.verify/1"));
}

TEST(VerifyHtml, HasTheVerdictOfTheReport) {
  VerifyResult result = wrong();
  result.unsupported_b.push_back({"n", "Odd", "", 0, "no kernel"});
  EXPECT_THAT(html_of(verify_report(result, false)), HasSubstr("not supported: b.onnx"));
  result.outcome = Outcome::same;
  result.proof.emplace();
  result.proof->proved = true;  // nothing has to run
  EXPECT_THAT(html_of(verify_report(result, false)), HasSubstr("same: b.onnx"));
}

TEST(VerifyHtml, ShowsLossesOfAQuantizedModelBeforeUnexplainedDifferences) {
  VerifyResult result = wrong();
  QuantizationLoss& loss = result.losses.emplace_back();
  loss.node = "conv2";
  loss.op_type = "Conv";
  loss.snr = 20;
  result.proof.emplace();
  for (int i = 0; i < 20; ++i) {
    result.proof->unexplained.push_back({Unexplained::Kind::node_added, "q", "'q' (QuantizeLinear) was not there"});
  }
  const std::string html = html_of(verify_report(result, false));
  EXPECT_THAT(html, Not(HasSubstr("First wrong node")));
  EXPECT_THAT(html, HasSubstr("<details><summary>20 differences</summary>"));
  EXPECT_LT(html.find("Loss by node"), html.find("<details>"));
}

TEST(VerifyHtml, AnOutputWithoutElementsHasNoFigures) {
  VerifyResult result = wrong();
  EXPECT_THAT(html_of(verify_report(result, false)), HasSubstr("Error over range"));
  result.outputs[0].samples[0].dims = {0, 4};
  EXPECT_THAT(html_of(verify_report(result, false)), Not(HasSubstr("Error over range")));
}

TEST(VerifyHtml, OmitsMissingParts) {
  VerifyResult result;
  result.reason = "identical files";
  const std::string html = html_of(verify_report(result, false));
  EXPECT_THAT(html, HasSubstr("✓ same"));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace relayout::cli
